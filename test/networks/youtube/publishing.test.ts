import test from 'ava';
import { youtubeNetwork } from '../../../networks/youtube/adapter.ts';
import { openConnection } from '../connection.ts';
import { publish } from '../publish.ts';
import { passesAsNetwork } from '../suite.ts';
import { bench, filmParts, openYoutube } from './bench.ts';

passesAsNetwork(test, bench);

test('a video is live at its address, with the chosen options', async (t) => {
  const { account, stored: look } = await openYoutube(t);
  const options = {
    title: 'Mine',
    privacy: 'unlisted',
    made_for_kids: false,
    tags: ['one', 'two words'],
    category: '27',
    synthetic_media: true,
  };
  const parts = await filmParts(['About it\n\nMore'], { options });
  const { sent } = await publish(youtubeNetwork, openConnection(t, account), parts);

  const [video] = await look.uploads();
  t.is(video?.id, sent[0]?.remoteId);
  t.is(sent[0]?.url, `${account.baseUrl}/watch?v=${video?.id}`);
  t.like(video?.snippet, { title: 'Mine', description: 'About it\n\nMore', categoryId: '27' });
  t.deepEqual(video?.snippet?.tags?.slice(0, 2), ['one', 'two words']);
  t.regex(video?.snippet?.tags?.[2] ?? '', /^punctual-[0-9a-f]{12}$/);
  t.like(video?.status, {
    privacyStatus: 'unlisted',
    selfDeclaredMadeForKids: false,
    containsSyntheticMedia: true,
  });
});

test('a first comment appears under its video', async (t) => {
  const { account, stored: look } = await openYoutube(t);
  const parts = await filmParts(['About it', 'Mine is the first']);
  const { sent } = await publish(youtubeNetwork, openConnection(t, account), parts);

  const [video, comment] = sent;
  const comments = await look.comments(video?.remoteId ?? '');
  t.deepEqual(
    comments.map(({ id, snippet }) => [id, snippet?.topLevelComment?.snippet?.textOriginal]),
    [[comment?.remoteId, 'Mine is the first']],
  );
  t.is(comment?.url, `${video?.url}&lc=${comment?.remoteId}`);
});
