import { AppBskyEmbedVideo } from '@atproto/api';
import { bluesky } from '../../../networks/bluesky/adapter.ts';
import { needs } from '../../support/needs.ts';
import { fileOf, videoFile } from '../files.ts';
import { partsWith, publish } from '../publish.ts';
import { blobBytes, connected } from './bench.ts';

const test = needs('pds');

test('a video is live as a video', async (t) => {
  const { person, records, connection } = await connected(t);
  const file = await videoFile();
  await publish(bluesky, connection, partsWith([file], ''));

  const [live] = await records();
  const embed = live?.record.embed;
  t.like(embed, { $type: 'app.bsky.embed.video', aspectRatio: { width: 320, height: 180 } });
  const bytes = AppBskyEmbedVideo.isMain(embed) && (await blobBytes(person.agent, embed.video));
  t.deepEqual(bytes, file.bytes);
});

test("a video of Apple's brand goes out as the MP4 that it is", async (t) => {
  const { person, records, connection } = await connected(t);
  for (const brand of ['M4V ', 'M4VH', 'M4VP']) {
    const bytes = Buffer.from((await videoFile()).bytes).fill(brand, 8, 12);
    const file = fileOf(bytes, { name: 'clip.m4v', type: 'video/mp4' });
    await publish(bluesky, connection, partsWith([file], brand));

    const embed = (await records()).at(-1)?.record.embed;
    t.like(embed, { video: { mimeType: 'video/mp4' } }, brand);
    const kept = AppBskyEmbedVideo.isMain(embed) && (await blobBytes(person.agent, embed.video));
    t.deepEqual(kept, Buffer.from(bytes).fill('mp42', 8, 12));
  }
});
