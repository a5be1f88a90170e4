import test from 'ava';
import { beginRounds } from '../../../db/delivery-list.ts';
import { status, type Answer } from '../../support/answers.ts';
import { planOf, watched } from '../../support/query-plan.ts';
import { isSignedWith } from '../../support/receiver.ts';
import { storeDelivery, storeMany } from '../../support/seed-deliveries.ts';
import { sharedWebhooks } from '../../support/webhooks.ts';

const api = sharedWebhooks(test);
const minute = 60_000;
const hour = 60 * minute;
const hook = { url: 'https://8.8.8.8/hook', events: ['post.failed'] };
const since = new Date(Date.now() - 3_600_000).toISOString();
const at = (ms: number): Date => new Date(Date.parse(since) + ms);
const execute = (statement: string, values: unknown[]): Promise<unknown> =>
  api.punctual.orm.em.fork().execute(statement, values);

/** An endpoint, and functions that replay its deliveries. The test makes the attempts, as Temporal would. */
async function endpoint(answer?: Answer) {
  const subscribed = await api.subscribe(answer);
  const { client, path, attempt, pass, store } = subscribed;
  return {
    ...subscribed,
    /** Makes one attempt. @returns its outcome, or the delay until the next one in milliseconds, which then passes. */
    deliver: async (id: string): Promise<string | number> => {
      const attempted = await attempt(id);
      if (attempted.kind === 'done') {
        return attempted.status;
      }
      pass(attempted.inMs ?? 0);
      return attempted.inMs ?? 0;
    },
    replay: async (id: string) => {
      const reply = await client.post(`${path}/deliveries/${id}/replay`);
      pass(hour); // The API uses the machine's clock, which continues.
      return reply;
    },
    storeAt: (end: 'failed' | 'delivered' | 'pending', ms: number) => store(end, at(ms)),
    replaySince: (from = since) => client.post(`${path}/replay?since=${encodeURIComponent(from)}`),
    statuses: async (): Promise<Record<string, string>> => {
      const { deliveries } = (await client.get(path)).body;
      return Object.fromEntries(
        deliveries.map((delivery: { id: string; status: string }) => [
          delivery.id,
          delivery.status,
        ]),
      );
    },
  };
}

// Runs first, so that PostgreSQL plans for its rows only.
test.serial('failed deliveries are found by an index', async (t) => {
  const { client, webhookId } = await endpoint();
  const { orm } = api.punctual;
  await storeMany(orm, client.workspaceId, 3000);
  const { em, queries } = watched(orm.em.fork());
  const begin = new Date('2026-01-03T00:00:00Z');
  await beginRounds(em, client.workspaceId, webhookId, { since: begin }, 1000);
  const plan = await planOf(orm, queries[0]);
  t.regex(plan, /Index Scan using deliveries_by_status on deliveries/v);
  t.false(plan.includes('Sort'), plan);
});

test('a replayed delivery sends the same event, byte for byte and with the same id, with a new signature', async (t) => {
  const { receiver, store, secret, deliver, replay, shown } = await endpoint(status(204));
  const id = await store('pending');
  t.is(await deliver(id), 'delivered');
  const before = await shown(id);
  const beganMs = Date.now();

  const reply = await replay(id);

  t.is(reply.status, 202);
  const { next_attempt_at: next, ...delivery } = reply.body.delivery;
  t.deepEqual({ ...delivery, next_attempt_at: null }, { ...before, status: 'pending' });
  t.true(Date.parse(next) >= beganMs && Date.parse(next) <= Date.now());
  t.is(await deliver(id), 'delivered');
  const [first, second] = receiver.arrived;
  t.is(receiver.arrived.length, 2);
  t.is(second?.body, first?.body);
  t.is(second?.headers['service-event-id'], first?.headers['service-event-id']);
  t.true(second && (await isSignedWith(secret, second)));
  const after = await shown(id);
  t.like(after, { status: 'delivered', next_attempt_at: null });
  t.deepEqual(after.attempts[0], before.attempts[0]);
  t.deepEqual(
    after.attempts.map(({ number }) => number),
    [1, 2],
  );
});

test('a replay has six attempts with the usual delays, and their numbers continue', async (t) => {
  const { store, deliver, replay, shown } = await endpoint(status(503));
  const id = await store('pending');
  const round = async (): Promise<void> => {
    for (const wait of [1, 5, 30, 120, 360]) {
      const over = Number(await deliver(id)) - wait * minute;
      t.true(over >= 0 && over <= (wait * minute) / 10, `wait ${wait} min: ${over} ms off`);
    }

    t.is(await deliver(id), 'failed');
  };
  await round();
  for (const last of [12, 18]) {
    t.is((await replay(id)).status, 202);
    await round();
    const { status: end, attempts } = await shown(id);
    t.is(end, 'failed');
    t.deepEqual(
      attempts.map(({ number }) => number),
      Array.from({ length: last }, (_, index) => index + 1),
    );
  }

  t.is(await deliver(id), 'failed'); // Even when Temporal missed it, nothing more is sent.
  t.is((await shown(id)).attempts.length, 18);
});

test('a delivery that waits for its next attempt is replayed; one that is due is not', async (t) => {
  const { receiver, store, deliver, replay, replaySince, shown } = await endpoint(status(500));
  const id = await store('pending');
  const refused = async (): Promise<void> => {
    const before = await shown(id);
    t.like(await replay(id), { status: 409, body: { code: 'delivery_not_final' } });
    t.deepEqual((await replaySince('2020-01-01T00:00:00Z')).body, { replaying: 0 });
    t.deepEqual(await shown(id), before);
  };
  await refused();
  await deliver(id);
  const waiting = await shown(id);
  t.is((await replay(id)).status, 202);
  const { next_attempt_at: next, ...due } = await shown(id);
  t.like(waiting, due);
  t.true(String(next) < String(waiting.next_attempt_at));
  await refused();
  receiver.answer = status(204);
  t.is(await deliver(id), 'delivered');
  t.is((await shown(id)).attempt_count, 2);
});

test('failed and waiting deliveries since a time are replayed; older and delivered ones are not', async (t) => {
  const { client, storeAt, replaySince, statuses } = await endpoint();
  const older = await storeAt('failed', -1);
  const first = await storeAt('failed', 0);
  const delivered = await storeAt('delivered', 1);
  const waiting = await storeAt('pending', 2);
  await execute(`update deliveries set next_attempt_at = now() + interval '1 h' where id = ?`, [
    waiting,
  ]);
  const second = await storeAt('failed', 3);
  const other = await api.newClient();
  const theirs = (await other.post('/webhooks', hook)).body.webhook.id;
  await storeDelivery(api.punctual, other.workspaceId, 'failed', at(1));
  const elsewhere = (await client.post('/webhooks', hook)).body.webhook.id;
  await execute(
    `insert into deliveries (id, workspace_id, endpoint_id, event_id, status, created_at)
     select gen_random_uuid(), workspace_id, ?, event_id, 'failed', created_at from deliveries where id = ?`,
    [elsewhere, second],
  );

  const reply = await replaySince();

  t.is(reply.status, 202);
  t.deepEqual(reply.body, { replaying: 3 });
  t.deepEqual(await statuses(), {
    [older]: 'failed',
    [first]: 'pending',
    [delivered]: 'delivered',
    [waiting]: 'pending',
    [second]: 'pending',
  });
  t.is((await other.get(`/webhooks/${theirs}`)).body.deliveries[0].status, 'failed');
  t.is((await client.get(`/webhooks/${elsewhere}`)).body.deliveries[0].status, 'failed');
  const rounds = await execute(
    'select id, round, attempts_before from deliveries where workspace_id = ? and round > 1 order by id',
    [client.workspaceId],
  );
  t.deepEqual(rounds, [
    { id: first, round: 2, attempts_before: 6 },
    { id: waiting, round: 2, attempts_before: 0 },
    { id: second, round: 2, attempts_before: 6 },
  ]);
});

test('repeated or concurrent calls start no replay twice', async (t) => {
  const { workspaceId, storeAt, replaySince } = await endpoint();
  for (let n = 0; n < 30; n += 1) {
    await storeAt('failed', n);
  }

  const replies = await Promise.all(Array.from({ length: 8 }, () => replaySince()));
  t.true(replies.every((reply) => reply.status === 202));
  const begun = replies.reduce((sum, { body }) => sum + body.replaying, 0);
  t.is(begun, 30);
  t.deepEqual((await replaySince()).body, { replaying: 0 });
  const rounds = 'select distinct round from deliveries where workspace_id = ?';
  t.deepEqual(await execute(rounds, [workspaceId]), [{ round: 2 }]);
});

test('one call replays a thousand, oldest first, and the next one continues', async (t) => {
  const { client, webhookId, path, replaySince } = await endpoint();
  await storeMany(api.punctual.orm, client.workspaceId, 1002);
  await execute(
    `update deliveries set status = 'failed', created_at = created_at + interval '2 years' where endpoint_id = ?`,
    [webhookId],
  );
  const left = async (): Promise<string[]> => {
    const { deliveries } = (await client.get(`${path}/deliveries?status=failed`)).body;
    return deliveries.map((delivery: { created_at: string }) => delivery.created_at);
  };

  t.deepEqual((await replaySince()).body, { replaying: 1000 });
  t.deepEqual(await left(), ['2028-01-01T16:42:00.000Z', '2028-01-01T16:41:00.000Z']);
  t.deepEqual((await replaySince()).body, { replaying: 2 });
  t.deepEqual((await replaySince()).body, { replaying: 0 });
});
