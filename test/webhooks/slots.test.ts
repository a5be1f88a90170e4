import test, { type ExecutionContext } from 'ava';
import { held, inTurn, status, type Answer } from '../support/answers.ts';
import { sharedWebhooks, type AttemptedDelivery, type Subscription } from '../support/webhooks.ts';

const api = sharedWebhooks(test);

const delivered: AttemptedDelivery = { kind: 'done', status: 'delivered' };

/** An endpoint whose slots are held by a stopped clock, so that none is released on a slow machine. */
async function endpoint(answer?: Answer): Promise<Subscription> {
  const subscribed = await api.subscribe(answer);
  subscribed.pass(0);
  await subscribed.caughtUp();
  return subscribed;
}

/** Creates events for an endpoint. @returns their deliveries. */
const events = ({ event }: Subscription, count: number): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, () => event()));

type Busy = { readonly waiting: number; readonly heldMs: number };

/**
 * Checks that nothing was sent or counted, and that the retry comes before all waiting deliveries would have had a
 * slot.
 */
function assertChecksAgain(t: ExecutionContext, attempted: AttemptedDelivery, busy: Busy): void {
  t.like(attempted, { kind: 'again', code: 'endpoint_busy' });
  const inMs = waitOf(attempted);
  const mostMs = 100 + Math.max(200, (busy.waiting * busy.heldMs) / 4);
  t.true(inMs >= 100 && inMs <= mostMs, `${inMs} ms, ${mostMs} at most`);
}

const waitOf = (attempted: AttemptedDelivery): number =>
  (attempted.kind === 'again' && attempted.inMs) || 0;

test('a hanging receiver has four concurrent requests at most, and others try again without losing an attempt', async (t) => {
  const { answer, waiting, most, release } = held();
  const subscribed = await endpoint(answer);
  const { attempt, receiver, shown } = subscribed;
  const [fifth = '', sixth = '', ...first] = await events(subscribed, 6);
  const hanging = first.map((id) => attempt(id));
  await receiver.nth(4);

  for (const id of [fifth, sixth, fifth]) {
    assertChecksAgain(t, await attempt(id), { waiting: 6, heldMs: 0 });
  }

  t.is(waiting(), 4);
  t.like(await shown(fifth), { status: 'pending', attempts: [] });
  release(status(204));
  t.deepEqual(
    await Promise.all(hanging),
    first.map(() => delivered),
  );
  t.deepEqual(await attempt(fifth), delivered);
  t.deepEqual(await attempt(sixth), delivered);
  t.is(most(), 4);
  t.is((await shown(fifth)).attempts.length, 1);
});

test('each request releases its slot, however it ends', async (t) => {
  const { answer, release } = held();
  const subscribed = await endpoint();
  const { attempt, event, receiver } = subscribed;
  const ends = [
    status(204),
    status(500),
    status(307),
    inTurn((socket) => socket.resetAndDestroy()),
    inTurn((socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n')),
  ];
  for (let round = 0; round < 2; round += 1) {
    for (const end of ends) {
      receiver.answer = end;
      const attempted = await attempt(await event());
      t.not(attempted.kind === 'again' && attempted.code, 'endpoint_busy');
    }
  }

  receiver.answer = answer;
  const hanging = (await events(subscribed, 4)).map((id) => attempt(id));
  await receiver.nth(ends.length * 2 + 4);
  release(status(204));
  t.deepEqual(
    await Promise.all(hanging),
    hanging.map(() => delivered),
  );
});

test.serial(
  'many hanging endpoints of other workspaces on one host delay no event for an endpoint there',
  async (t) => {
    const { answer, waiting, lost, release } = held();
    const others = await Promise.all(Array.from({ length: 17 }, () => api.subscribe(answer)));
    const hanging = others.flatMap(({ event, attempt }) =>
      [1, 2, 3, 4].map(async () => attempt(await event())),
    );
    await Promise.all(others.map(({ receiver }) => receiver.nth(4)));
    const { event, attempt } = await api.subscribe(status(204));

    t.deepEqual(await attempt(await event()), delivered);

    t.is(waiting(), 68);
    t.is(lost(), 0);
    release(status(204));
    t.true((await Promise.all(hanging)).every(({ kind }) => kind === 'done'));
  },
);

test('a hanging endpoint delays no other of the same workspace', async (t) => {
  const { answer, waiting, release } = held();
  const subscribed = await endpoint(answer);
  const { client, workspaceId, attempt, receiver } = subscribed;
  const hanging = (await events(subscribed, 4)).map((id) => attempt(id));
  await receiver.nth(4);
  const healthy = api.receiver(status(204));
  const hook = { url: healthy.url, events: ['post.failed'] };
  const { id } = (await client.post('/webhooks', hook)).body.webhook;
  await subscribed.event();
  const [other] = await api.punctual.orm.em
    .fork()
    .execute<{ id: string }[]>(
      'select id from deliveries where endpoint_id = ? and workspace_id = ?',
      [id, workspaceId],
    );

  t.deepEqual(await attempt(other?.id ?? ''), delivered);

  t.is(waiting(), 4);
  t.is(healthy.arrived.length, 1);
  release(status(204));
  await Promise.all(hanging);
});
