import test from 'ava';
import { newClient } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { storeChannel } from '../../support/seed.ts';
import { inRounds } from './rounds.ts';

test('a reader sees a post as it was before an edit or as it is after it, never half of it', async (t) => {
  t.timeout(170_000);
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const channels: string[] = [];
  for (const name of ['a', 'b']) {
    channels.push(await storeChannel(punctual, client.workspaceId, { handle: `@${name}@x.test` }));
  }

  const version = (word: string, channel: string | undefined) => ({
    body: word,
    channel_ids: [channel],
    channel_bodies: { [String(channel)]: `${word} here` },
    video: { title: word },
  });
  const versions = [version('old', channels[0]), version('new', channels[1])];
  const seen = new Set<string>();
  await inRounds(async (round) => {
    const { id } = (await client.post('/posts', versions[0])).body.post;
    const read = () => Promise.all([1, 2, 3, 4].map(() => client.get(`/posts/${id}`)));
    const edit = { isDone: false };
    const editing = client.patch(`/posts/${id}`, versions[1]).then(() => (edit.isDone = true));
    const replies = await read();
    while (!edit.isDone) {
      replies.push(...(await read()));
    }

    await editing;
    replies.push(...(await read()));
    for (const { body } of replies) {
      const { post } = body;
      const [channel] = post.channels;
      const shown = [post.body, post.video.title, channel.body, channel.channel_id];
      const wholes = versions.map((one, n) => [
        one.body,
        one.body,
        `${one.body} here`,
        channels[n],
      ]);
      t.true(
        wholes.some((whole) => whole.join() === shown.join()),
        `round ${round}: ${shown.join()}`,
      );
      seen.add(post.body);
    }
  });
  t.deepEqual([...seen].toSorted(), ['new', 'old']);
});
