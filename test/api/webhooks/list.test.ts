import test from 'ava';
import { loadEndpoints } from '../../../api/webhooks/load-endpoints.ts';
import { newClient } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { planOf, storeMany, watched } from './query-plan.ts';
import { storeDelivery } from '../../support/seed-deliveries.ts';

const hook = (name: string, events = ['post.failed']): object => ({
  url: `https://8.8.8.8/${name}`,
  events,
  description: name,
});

test('all endpoints are listed, oldest first, each with its newest delivery and without its secret', async (t) => {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  t.deepEqual((await client.get('/webhooks')).body, { webhooks: [] });
  const first = (await client.post('/webhooks', hook('first'))).body.webhook;
  await storeDelivery(punctual, client.workspaceId, 'delivered', new Date('2026-05-01T10:00:00Z'));
  await storeDelivery(punctual, client.workspaceId, 'failed', new Date('2026-05-02T10:00:00Z'));
  await storeDelivery(punctual, client.workspaceId, 'delivered', new Date('2026-04-01T10:00:00Z'));
  const second = (await client.post('/webhooks', hook('second', ['webhook.test']))).body.webhook;
  const third = (await client.post('/webhooks', hook('third'))).body.webhook;
  const newest = new Date('2026-05-03T10:00:00Z');
  await storeDelivery(punctual, client.workspaceId, 'pending', newest);

  const reply = await client.get('/webhooks');

  t.is(reply.status, 200);
  const shown = ({ secret: _, ...webhook }: { secret: string }, last: object | null): object => ({
    ...webhook,
    last_delivery: last,
  });
  const pending = {
    status: 'pending',
    response_status: null,
    error: null,
    created_at: newest.toISOString(),
  };
  t.deepEqual(reply.body, {
    webhooks: [shown(first, pending), shown(second, null), shown(third, pending)],
  });
  for (const webhook of reply.body.webhooks) {
    t.deepEqual((await client.get(`/webhooks/${webhook.id}`)).body.webhook, webhook);
  }
});

test('of a delivery with several attempts the last one’s answer is shown', async (t) => {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  await client.post('/webhooks', hook('one'));
  const at = new Date('2026-05-02T10:00:00Z');
  const id = await storeDelivery(punctual, client.workspaceId, 'failed', at);
  await punctual.orm.em.execute(
    `update delivery_attempts set response_status = null, error = 'timeout' where delivery_id = ? and number = 6`,
    [id],
  );

  t.deepEqual((await client.get('/webhooks')).body.webhooks[0].last_delivery, {
    status: 'failed',
    response_status: null,
    error: 'timeout',
    created_at: at.toISOString(),
  });
});

test('another workspace’s endpoints are not listed', async (t) => {
  const punctual = await startApi(t);
  const [mine, other] = [await newClient(punctual), await newClient(punctual)];
  await other.post('/webhooks', hook('theirs'));
  t.deepEqual((await mine.get('/webhooks')).body, { webhooks: [] });
});

test('the list is one query, which goes down an index for each newest delivery, however many there are', async (t) => {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  for (let n = 0; n < 10; n += 1) {
    await client.post('/webhooks', hook(`n${n}`));
  }

  await storeMany(punctual.orm, client.workspaceId, 500);
  const { em, queries } = watched(punctual.orm.em.fork());
  const endpoints = await loadEndpoints(em, client.workspaceId, new Date());

  t.is(endpoints.length, 10);
  t.true(endpoints.every(({ last_delivery: last }) => last?.response_status === 204));
  t.is(queries.length, 1);
  const plan = await planOf(punctual.orm, queries[0]);
  t.true(plan.includes('Index Scan Backward using deliveries_newest'), plan);
  t.true(plan.includes('delivery_attempts_delivery_id_number_unique'), plan);
});
