import test from 'ava';
import { held, inTurn, status } from '../support/answers.ts';
import { poll } from '../support/poll.ts';
import { sharedWebhooks, type Subscription } from '../support/webhooks.ts';

const api = sharedWebhooks(test);
const delivered = { kind: 'done', status: 'delivered' } as const;

const execute = <T>(sql: string, values: readonly unknown[] = []): Promise<T[]> =>
  api.punctual.orm.em.fork().execute<T[]>(sql, [...values]);

/** Makes writes of this workspace's attempts fail, as when the disk is full. */
async function fullDisk({ workspaceId }: Subscription) {
  const name = `full_disk_${workspaceId.replaceAll('-', '')}`;
  await execute(`create sequence ${name}_count`); // Sequences are not rolled back.
  await execute(`create function ${name}() returns trigger language plpgsql as $$ begin
    perform nextval('${name}_count');
    raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`);
  await execute(`create trigger ${name} before insert on delivery_attempts for each row
    when (new.workspace_id = '${workspaceId}') execute function ${name}()`);
  return {
    makeRoom: () => execute(`drop trigger ${name} on delivery_attempts`),
    /** How many writes have failed. */
    refusals: async (): Promise<number> => {
      const [row] = await execute<{ count: number }>(
        `select last_value::int as count from ${name}_count`,
      );
      return row?.count ?? 0;
    },
  };
}

test('while results of attempts cannot be stored, a receiver gets six requests at most, and the delivery fails as interrupted and can be replayed', async (t) => {
  const subscribed = await api.subscribe(status(204));
  const { attempt, event, receiver, shown, client, path } = subscribed;
  const id = await event();
  const { makeRoom } = await fullDisk(subscribed);
  let heartbeatDetails: unknown;
  const info = () => ({
    ...(heartbeatDetails === undefined ? {} : { heartbeatDetails }),
    onHeartbeat: (details: unknown) => (heartbeatDetails = details),
  });
  for (let count = 1; count <= 6; count += 1) {
    await t.throwsAsync(attempt(id, {}, info()), { code: '53100' });
    t.deepEqual((await shown(id)).attempts, []);
  }

  for (let count = 0; count < 3; count += 1) {
    t.deepEqual(await attempt(id, {}, info()), { kind: 'done', status: 'failed' });
  }

  t.is(receiver.arrived.length, 6);
  const interrupted = { status: 'failed', error: 'interrupted', next_attempt_at: null };
  t.like(await shown(id), { ...interrupted, attempts: [] });

  await makeRoom();
  t.is((await client.post(`${path}/deliveries/${id}/replay`)).status, 202);
  t.deepEqual(await attempt(id), delivered);
  t.like((await shown(id)).attempts, [{ number: 1, error: null }]);
});

test('a worker that dies during a request uses up no attempt: the same one is repeated', async (t) => {
  const subscribed = await api.subscribe(status(500));
  const { attempt, event, receiver, shown, pass } = subscribed;
  pass(0);
  const id = await event();
  const dead = () => Promise.reject(new Error('Killed.'));
  for (let made = 1; made <= 6; made += 1) {
    // The request was sent, and the worker died before the response.
    await t.throwsAsync(attempt(id, { webhooks: { ...subscribed.deps.egress, request: dead } }));
    t.is((await shown(id)).attempts.length, made - 1);
    const attempted = await attempt(id);
    t.is(attempted.kind, made < 6 ? 'again' : 'done');
    pass((attempted.kind === 'again' && attempted.inMs) || 0);
  }

  t.is(receiver.arrived.length, 6);
  t.deepEqual(
    (await shown(id)).attempts.map(({ number, response_status: code }) => [number, code]),
    [1, 2, 3, 4, 5, 6].map((number) => [number, 500]),
  );
});

test('a database that rejects writes for a while causes no second request: the results are stored later', async (t) => {
  const { answer, release } = held();
  const subscribed = await api.subscribe(answer);
  const { attempt, event, receiver, shown } = subscribed;
  const ids = await Promise.all([event(), event(), event(), event()]);
  const all = ids.map((id) => attempt(id, {}, { startToCloseTimeoutMs: 600_000 }));
  await receiver.nth(4);
  const { makeRoom, refusals } = await fullDisk(subscribed);
  release(status(204));
  await poll(refusals, (count) => count > 2 * ids.length);
  await makeRoom();

  t.deepEqual(
    await Promise.all(all),
    all.map(() => delivered),
  );
  for (const id of ids) {
    t.deepEqual(await attempt(id), delivered);
    t.is((await shown(id)).attempts.length, 1);
  }

  t.is(receiver.arrived.length, 4);
});

test('two workers make the same attempt, which counts once: a success is delivered, and of two failures the first counts', async (t) => {
  for (const [code, later, end] of [
    [204, 500, 'delivered'],
    [500, 204, 'delivered'],
    [500, 503, 'pending'],
  ] as const) {
    const [first, second] = [held(), held()];
    const subscribed = await api.subscribe(inTurn(first.answer, second.answer));
    const { attempt, event, receiver, shown } = subscribed;
    const id = await event();
    const old = attempt(id);
    await receiver.nth(1);
    const next = attempt(id);
    await receiver.nth(2);
    first.release(status(code));
    await old;
    const before = await shown(id);
    second.release(status(later));
    await next;

    const { attempts, ...seen } = await shown(id);
    const stored = end === 'delivered' ? 204 : code;
    t.is(seen.status, end);
    t.like(attempts, [{ number: 1, response_status: stored }]);
    t.is(attempts.length, 1);
    t.is(seen.next_attempt_at, end === 'delivered' ? null : before.next_attempt_at);
  }
});

test('a late response after the delivery failed because its endpoint was disabled: a success is delivered, and a failure changes nothing', async (t) => {
  for (const [code, end] of [
    [204, { status: 'delivered', error: null }],
    [500, { status: 'failed', error: 'endpoint_disabled' }],
  ] as const) {
    const { answer, release } = held();
    const { attempt, event, receiver, shown, client, path } = await api.subscribe(answer);
    const id = await event();
    const old = attempt(id);
    await receiver.nth(1);
    await client.patch(path, { enabled: false });
    t.deepEqual(await attempt(id), { kind: 'done', status: 'failed' });
    release(status(code));
    t.like(await old, { status: end.status });

    const { attempts, ...seen } = await shown(id);
    t.like(seen, { ...end, next_attempt_at: null });
    t.like(attempts, [{ number: 1, response_status: code }]);
  }
});
