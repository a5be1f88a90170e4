import test from 'ava';
import { newClient } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { storedRows } from '../../support/stored-rows.ts';
import { inRounds, rounds } from './rounds.ts';

const hook = { url: 'https://8.8.8.8/hook', events: ['post.failed'] };

test('20 webhooks that are registered at once end at 10, in each of 200 rounds', async (t) => {
  t.timeout(170_000);
  const punctual = await startApi(t);
  await inRounds(
    async () => {
      const client = await newClient(punctual);
      const replies = await Promise.all(
        Array.from({ length: 20 }, () => client.post('/webhooks', hook)),
      );

      const [made, refused] = [201, 409].map((wanted) =>
        replies.filter(({ status }) => status === wanted),
      );
      t.is(made?.length, 10);
      t.is(refused?.length, 10);
      t.true(refused?.every(({ body }) => body.code === 'webhook_limit_reached'));
      t.is(new Set(made?.map(({ body }) => body.webhook.id)).size, 10);
    },
    { lanes: 2 },
  );

  t.is((await storedRows(punctual.orm)).webhook_endpoints, 10 * rounds);
});

test('a place that a deleted endpoint leaves is given once, however many ask for it at once', async (t) => {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  for (let n = 0; n < 10; n += 1) {
    t.is((await client.post('/webhooks', hook)).status, 201);
  }

  const { id } = (await client.get('/webhooks')).body.webhooks[0];
  t.is((await client.delete(`/webhooks/${id}`)).status, 200);
  const replies = await Promise.all(
    Array.from({ length: 8 }, () => client.post('/webhooks', hook)),
  );

  t.is(replies.filter(({ status }) => status === 201).length, 1);
  t.is((await client.get('/webhooks')).body.webhooks.length, 10);
});
