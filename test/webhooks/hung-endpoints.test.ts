import test from 'ava';
import { EgressError } from '../../runtime/egress/egress.ts';
import { held, status } from '../support/answers.ts';
import { sharedWebhooks } from '../support/webhooks.ts';
import {
  delivered,
  endpointWithHeldSlots,
  events,
  type EndpointWithHeldSlots,
} from './support/held-slots.ts';

// Hanging endpoints are counted over all workspaces, so the tests run serially.

const api = sharedWebhooks(test);

/** A request that times out. */
const unanswered = (here: EndpointWithHeldSlots) => ({
  webhooks: {
    ...here.deps.egress,
    request: () => Promise.reject(new EgressError('timeout', 'No answer.', { maybeSent: true })),
  },
});

/**
 * Makes `count` endpoints of another workspace hang for an hour of `here`'s clock. @returns a function that ends it.
 */
async function othersHang(here: EndpointWithHeldSlots, count: number) {
  const em = api.punctual.orm.em.fork();
  await em.execute('update endpoint_places set rests_until = null'); // Left by earlier tests.
  const { workspaceId } = await api.newClient();
  const until = new Date(here.now().getTime() + 3_600_000);
  await em.execute(
    `with w as (
       insert into webhook_endpoints (id, workspace_id, url, events, sealed_secret, secret_hint, created_at)
       select gen_random_uuid(), ?, 'https://8.8.8.8/', '[]', 'x', 'x', now() from generate_series(1, ?::int)
       returning id, workspace_id)
     insert into endpoint_places (endpoint_id, place, workspace_id, rests_until)
     select id, 0, workspace_id, ?::timestamptz from w`,
    [workspaceId, count, until],
  );
  return () =>
    em.execute('update endpoint_places set rests_until = null where workspace_id = ?', [
      workspaceId,
    ]);
}

test.serial(
  'an endpoint that is the only one to hang gets the next request as soon as one has ended',
  async (t) => {
    const here = await endpointWithHeldSlots(api, status(204));
    for (const id of await events(here, 8)) {
      t.like(await here.attempt(id, unanswered(here)), { kind: 'again', code: 'timeout' });
    }
  },
);

test.serial(
  'the more endpoints hang, the longer each rests after a timeout: together they get two requests a second',
  async (t) => {
    const here = await endpointWithHeldSlots(api, status(204));
    const end = await othersHang(here, 100);
    const ids = await events(here, 5);
    const [last = '', ...first] = ids;
    for (const id of first) {
      t.like(await here.attempt(id, unanswered(here)), { kind: 'again', code: 'timeout' });
    }

    t.like(await here.attempt(last), { kind: 'again', code: 'endpoint_busy' });
    await here.hold(189_000); // 400 requests in 200 s, or 10 s for each.
    t.like(await here.attempt(last), { kind: 'again', code: 'endpoint_busy' });
    t.is(here.receiver.arrived.length, 0);
    await here.hold(5000);
    t.deepEqual(await here.attempt(last), delivered);
    await end();
  },
);

test.serial('an endpoint that responds again has no rest, however many others hang', async (t) => {
  const { answer, release } = held();
  const here = await endpointWithHeldSlots(api, answer);
  const end = await othersHang(here, 100);
  const [slow = '', next = '', ...silent] = await events(here, 5);
  const answered = here.attempt(slow);
  await here.receiver.nth(1);
  for (const id of silent) {
    t.like(await here.attempt(id, unanswered(here)), { kind: 'again', code: 'timeout' });
  }

  t.like(await here.attempt(next), { kind: 'again', code: 'endpoint_busy' });
  here.receiver.answer = status(204);
  release(status(204));
  t.deepEqual(await answered, delivered);
  const all = await Promise.all([next, ...(await events(here, 3))].map((id) => here.attempt(id)));
  t.deepEqual(
    all,
    all.map(() => delivered),
  );
  await end();
});

test.serial(
  'attempts for a hanging endpoint look for slots less often the more endpoints hang, and those for a responding one do not',
  async (t) => {
    const waits = async (count: number, heldMs: number): Promise<number> => {
      const { answer, release } = held();
      const here = await endpointWithHeldSlots(api, answer);
      const end = await othersHang(here, count);
      const [waiting = '', ...first] = await events(here, 404);
      const hanging = first.slice(0, 4).map((id) => here.attempt(id));
      await here.receiver.nth(4);
      await here.hold(heldMs);
      let longest = 0;
      for (let polls = 0; polls < 30; polls += 1) {
        const looked = await here.attempt(waiting);
        longest = Math.max(longest, looked.kind === 'again' ? (looked.inMs ?? 0) : 0);
      }

      release(status(204));
      await Promise.all(hanging);
      await end();
      return longest;
    };
    const [alone, amongMany, answering] = [
      await waits(0, 9000),
      await waits(100, 9000),
      await waits(100, 20),
    ];
    t.true(alone > 20_000 && alone <= 81_000, String(alone));
    t.true(amongMany > 200_000 && amongMany <= 910_000, String(amongMany)); // 404 × 9 s, four at a time.
    t.true(answering <= 2200, String(answering));
  },
);
