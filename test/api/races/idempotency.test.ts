import test from 'ava';
import { clientFor, newClient } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { storeChannel } from '../../support/seed.ts';
import { storedRows } from '../../support/stored-rows.ts';
import { inRounds, rounds } from './rounds.ts';

const clientCount = 20;

test('20 clients that send one idempotency key at once make one post, in each of 200 rounds', async (t) => {
  t.timeout(170_000);
  const punctual = await startApi(t);
  await inRounds(
    async (round) => {
      const { workspaceId, key } = await newClient(punctual);
      const channel = await storeChannel(punctual, workspaceId);
      const post = {
        body: `Round ${round}`,
        channel_ids: [channel],
        // Half of them are drafts, which take another way.
        ...(round % 2 === 0 ? { schedule_in_minutes: 60 } : {}),
      };
      const replies = await Promise.all(
        Array.from({ length: clientCount }, (_, n) => {
          const client = clientFor(punctual.url, workspaceId, key);
          // By header and by body: it is the same key.
          return n % 2 === 0
            ? client.post('/posts', post, { 'idempotency-key': 'once' })
            : client.post('/posts', { ...post, idempotency_key: 'once' });
        }),
      );

      const statuses = replies.map(({ status }) => status).toSorted((a, b) => a - b);
      t.deepEqual(statuses, [...Array.from({ length: clientCount - 1 }, () => 200), 201]);
      t.is(new Set(replies.map(({ body }) => body.post.id)).size, 1);
      const replayed = replies.filter(({ headers }) => headers.has('idempotency-replayed'));
      t.is(replayed.length, clientCount - 1);
      t.true(replayed.every(({ status }) => status === 200));
    },
    { lanes: 2 },
  );

  const one = { posts: rounds, post_channels: rounds, idempotency_keys: rounds };
  t.like(await storedRows(punctual.orm), one);
});
