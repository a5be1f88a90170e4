import test from 'ava';
import { sharedApi } from '../../support/kit.ts';
import { storeDelivery, storeMany } from '../../support/seed-deliveries.ts';

const api = sharedApi(test);

const execute = <T = unknown>(sql: string, values: unknown[]): Promise<T[]> =>
  api.punctual.orm.em.fork().execute<T[]>(sql, values);

async function endpoint(name = 'hook') {
  const client = await api.newClient();
  const webhook = { url: `https://8.8.8.8/${name}`, events: ['post.failed'] };
  const { id } = (await client.post('/webhooks', webhook)).body.webhook;
  return { client, id: String(id), path: `/webhooks/${id}`, workspaceId: client.workspaceId };
}

/** A delivery with this many attempts after many replays. */
async function oftenReplayed(workspaceId: string, attempts: number): Promise<string> {
  const delivery = await storeDelivery(api.punctual, workspaceId, 'delivered');
  await execute(
    `insert into delivery_attempts (id, workspace_id, delivery_id, number, created_at, duration_ms, response_status)
     select gen_random_uuid(), ?, ?, number, now(), 20, 204 from generate_series(2, ?::int) as number`,
    [workspaceId, delivery, attempts],
  );
  return delivery;
}

test('a delivery with very many attempts shows the newest 50, in order, and the total', async (t) => {
  const { client, path, workspaceId } = await endpoint();
  await oftenReplayed(workspaceId, 10_000);
  const newest = Array.from({ length: 50 }, (_, index) => 9951 + index);
  const { deliveries } = (await client.get(path)).body;
  const listed = (await client.get(`${path}/deliveries`)).body.deliveries;
  for (const [shown] of [deliveries, listed]) {
    t.deepEqual(
      shown.attempts.map(({ number }: { number: number }) => number),
      newest,
    );
    t.is(shown.attempt_count, 10_000);
    t.is(shown.response_status, 204);
  }
});

test('a replay deletes attempts that are no longer shown, and numbers continue', async (t) => {
  const { client, path, workspaceId } = await endpoint();
  const delivery = await oftenReplayed(workspaceId, 300);

  const reply = await client.post(`${path}/deliveries/${delivery}/replay`);

  t.is(reply.status, 202);
  t.is(reply.body.delivery.attempt_count, 300);
  t.is(reply.body.delivery.attempts.length, 50);
  const kept = 'select count(*)::int as count from delivery_attempts where delivery_id = ?';
  t.deepEqual(await execute(kept, [delivery]), [{ count: 50 }]);
  const before = 'select attempts_before from deliveries where id = ?';
  t.deepEqual(await execute(before, [delivery]), [{ attempts_before: 300 }]);
});

test('a workspace replays at most 2,000 deliveries in a minute, over all endpoints and concurrent calls; the next call gets Retry-After', async (t) => {
  const { client, path, workspaceId } = await endpoint();
  const other = { url: 'https://8.8.8.8/other', events: ['post.failed'] };
  const { id } = (await client.post('/webhooks', other)).body.webhook;
  await storeMany(api.punctual.orm, workspaceId, 1300);
  await execute(`update deliveries set status = 'failed' where workspace_id = ?`, [workspaceId]);
  const since = '?since=2020-01-01T00:00:00Z';

  const replies = await Promise.all(
    [path, path, `/webhooks/${id}`, `/webhooks/${id}`].map((to) =>
      client.post(`${to}/replay${since}`),
    ),
  );

  const begun = replies.reduce((sum, { body }) => sum + (body.replaying ?? 0), 0);
  t.is(begun, 2000);
  const refused = await client.post(`${path}/replay${since}`);
  t.like(refused, { status: 429, body: { code: 'rate_limited' } });
  t.regex(refused.body.error, /2000 deliveries of this workspace .* Try again in \d+ s\./v);
  t.true(Number(refused.headers.get('retry-after')) > 0);
  const [left] = await execute<{ id: string; endpoint_id: string }>(
    `select id, endpoint_id from deliveries where workspace_id = ? and status = 'failed' limit 1`,
    [workspaceId],
  );
  const one = `/webhooks/${left?.endpoint_id}/deliveries/${left?.id}/replay`;
  t.is((await client.post(one)).status, 429);

  const elsewhere = await endpoint();
  await storeDelivery(api.punctual, elsewhere.workspaceId, 'failed');
  t.is((await elsewhere.client.post(`${elsewhere.path}/replay${since}`)).body.replaying, 1);
});
