import test, { type ExecutionContext } from 'ava';
import { newClient } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { planOf, storeMany, watched } from './query-plan.ts';
import { beginRound } from '../../../api/webhooks/begin-round.ts';
import { storeDelivery } from '../../support/seed-deliveries.ts';

const hook = { url: 'https://8.8.8.8/hook', events: ['post.failed'] };
const since = '2027-03-01T09:00:00.000Z';
const at = (ms: number): Date => new Date(Date.parse(since) + ms);

async function world(t: ExecutionContext) {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const { id } = (await client.post('/webhooks', hook)).body.webhook;
  const { workspaceId } = client;
  const store = (status: 'failed' | 'delivered' | 'pending', ms: number): Promise<string> =>
    storeDelivery(punctual, workspaceId, status, at(ms));
  const replay = (from = since) =>
    client.post(`/webhooks/${id}/replay?since=${encodeURIComponent(from)}`);
  const statuses = async (): Promise<Record<string, string>> => {
    const { deliveries } = (await client.get(`/webhooks/${id}`)).body;
    return Object.fromEntries(
      deliveries.map((delivery: { id: string; status: string }) => [delivery.id, delivery.status]),
    );
  };
  return { punctual, client, id, store, replay, statuses };
}

test('what has failed since a time is replayed; what is older, pending or delivered is left alone', async (t) => {
  const { punctual, client, store, replay, statuses } = await world(t);
  const older = await store('failed', -1);
  const first = await store('failed', 0);
  const delivered = await store('delivered', 1);
  const pending = await store('pending', 2);
  const second = await store('failed', 3);
  const other = await newClient(punctual);
  const theirs = (await other.post('/webhooks', hook)).body.webhook.id;
  await storeDelivery(punctual, other.workspaceId, 'failed', at(1));
  const elsewhere = (await client.post('/webhooks', hook)).body.webhook.id;
  await punctual.orm.em.execute(
    `insert into deliveries (id, workspace_id, endpoint_id, event_id, status, created_at)
     select gen_random_uuid(), workspace_id, ?, event_id, 'failed', created_at from deliveries where id = ?`,
    [elsewhere, second],
  );

  const reply = await replay();

  t.is(reply.status, 202);
  t.deepEqual(reply.body, { replaying: 2 });
  t.deepEqual(await statuses(), {
    [older]: 'failed',
    [first]: 'pending',
    [delivered]: 'delivered',
    [pending]: 'pending',
    [second]: 'pending',
  });
  t.is((await other.get(`/webhooks/${theirs}`)).body.deliveries[0].status, 'failed');
  t.is((await client.get(`/webhooks/${elsewhere}`)).body.deliveries[0].status, 'failed');
  const rounds = await punctual.orm.em
    .fork()
    .execute('select id, round, attempts_before from deliveries where round > 1 order by id');
  t.deepEqual(rounds, [
    { id: first, round: 2, attempts_before: 6 },
    { id: second, round: 2, attempts_before: 6 },
  ]);
});

test('asking again, or twice at once, begins nothing twice', async (t) => {
  const { punctual, store, replay } = await world(t);
  for (let n = 0; n < 30; n += 1) {
    await store('failed', n);
  }

  const replies = await Promise.all(Array.from({ length: 8 }, () => replay()));
  t.true(replies.every(({ status }) => status === 202));
  t.is(
    replies.reduce((sum, { body }) => sum + body.replaying, 0),
    30,
  );
  t.deepEqual((await replay()).body, { replaying: 0 });
  const rounds = 'select distinct round from deliveries';
  t.deepEqual(await punctual.orm.em.fork().execute(rounds), [{ round: 2 }]);
});

test('one call replays a thousand, the oldest first, and the next one goes on', async (t) => {
  const { punctual, client, id, replay } = await world(t);
  await storeMany(punctual.orm, client.workspaceId, 1002);
  await punctual.orm.em
    .fork()
    .execute(
      `update deliveries set status = 'failed', created_at = created_at + interval '2 years' where endpoint_id = ?`,
      [id],
    );
  const left = async (): Promise<string[]> => {
    const { deliveries } = (await client.get(`/webhooks/${id}/deliveries?status=failed`)).body;
    return deliveries.map((delivery: { created_at: string }) => delivery.created_at);
  };

  t.deepEqual((await replay()).body, { replaying: 1000 });
  t.deepEqual(await left(), ['2028-01-01T16:42:00.000Z', '2028-01-01T16:41:00.000Z']);
  t.deepEqual((await replay()).body, { replaying: 2 });
  t.deepEqual((await replay()).body, { replaying: 0 });
});

test('a time may come with an offset, and from any year', async (t) => {
  const { store, replay } = await world(t);
  await store('failed', 0);
  t.deepEqual((await replay('2027-03-01T11:00:00.001+02:00')).body, { replaying: 0 });
  t.deepEqual((await replay('9999-12-31T23:59:59Z')).body, { replaying: 0 });
  t.deepEqual((await replay('2027-03-01T11:00:00+02:00')).body, { replaying: 1 });
  await store('failed', 0);
  t.deepEqual((await replay('0000-01-01T00:00:00Z')).body, { replaying: 1 });
});

test('a time that is missing or malformed is refused and named', async (t) => {
  const { client, id, store, statuses } = await world(t);
  const failed = await store('failed', 0);
  const queries = [
    '',
    '?since=',
    '?since=yesterday',
    '?since=2027-03-01',
    '?since=2027-03-01T09:00:00',
    '?since=2027-02-30T09:00:00Z',
    '?since=2027-03-01T23:59:60Z',
    '?since=1803891600',
    `?since=${since}&since=${since}`,
  ];
  for (const query of queries) {
    const reply = await client.post(`/webhooks/${id}/replay${query}`);
    t.is(reply.status, 400, query);
    t.is(reply.body.code, 'invalid_request');
    t.deepEqual(
      reply.body.details.map(({ path }: { path: string }) => path),
      ['?since'],
    );
  }

  t.is((await client.post(`/webhooks/${id}/replay?until=${since}`)).status, 400);
  t.is((await client.post(`/webhooks/${id}/replay?since=${since}`, { since })).status, 400);
  t.deepEqual(await statuses(), { [failed]: 'failed' });
});

test('of another workspace’s endpoint, or one that is not there, nothing is replayed', async (t) => {
  const { punctual, id, store, statuses } = await world(t);
  const failed = await store('failed', 0);
  const other = await newClient(punctual);
  for (const one of [id, crypto.randomUUID()]) {
    for (const query of ['', `?since=${since}`]) {
      t.is((await other.post(`/webhooks/${one}/replay${query}`)).status, 404);
    }
  }

  t.deepEqual(await statuses(), { [failed]: 'failed' });
});

test('what has failed is found by an index', async (t) => {
  const { punctual, client, id } = await world(t);
  await storeMany(punctual.orm, client.workspaceId, 3000);
  const { em, queries } = watched(punctual.orm.em.fork());
  await beginRound(em, client.workspaceId, new Date(), {
    which: `endpoint_id = ? and created_at >= ? and status = 'failed'`,
    values: [id, new Date('2026-01-03T00:00:00Z')],
  });
  const plan = await planOf(punctual.orm, queries[0]);
  t.regex(plan, /Index Scan using deliveries_by_status on deliveries/v);
  t.false(plan.includes('Sort'), plan);
});
