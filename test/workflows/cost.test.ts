import type { ExecutionContext } from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { ensureSearchAttributes } from '../../temporal/ensure-search-attributes.ts';
import { newClient } from '../support/client.ts';
import { measureWithin, costOf, type Cost } from '../support/cost-of.ts';
import { currentDetails } from '../support/current-details.ts';
import { endOf } from '../support/end-of.ts';
import { addFakeChannel } from '../support/seed.ts';
import { fakeNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { ownTemporal } from '../support/own-temporal.ts';
import { poll } from '../support/poll.ts';
import { startApi, startPunctual, startWorkers } from '../support/punctual.ts';
import { startReceiver } from '../support/receiver.ts';
import { testLog } from '../support/temporal.ts';
import { untilBegun } from '../support/until-begun.ts';

const hour = 60 * 60_000;

/** Long enough for the workflow to be asleep before the post is due. */
const soonMs = 8000;

/** The cost of the closest similar project, counted from its sources. */
const peer = { one: '87 events, 15 to 29 actions', five: '401 events, 69 to 89 actions' };

needs('temporal')('a post stays within its Temporal budget', async (t) => {
  const { schedule, reschedule, hook, refuseNext, finished, handleOf, delivery } = await world(t);
  const soon = (channels: number, result: string) => async () =>
    finished(await schedule(channels, soonMs), result);
  const [sleeping, rescheduled, single, fivefold] = await Promise.all([
    measureWithin(async () => costOf(await untilBegun(handleOf(await schedule(1, hour)), 5)), {
      events: 5,
      actions: 2,
      bytes: 1500,
    }),
    measureWithin(
      async () => {
        const post = await schedule(1, hour);
        const before = await costOf(await untilBegun(handleOf(post), 5));
        await reschedule(post);
        return less(await costOf(handleOf(post)), before);
      },
      { events: 7, actions: 4 },
    ),
    measureWithin(soon(1, 'published'), { events: 19, actions: 6 }),
    measureWithin(soon(5, 'published'), { events: 43, actions: 10 }),
  ]);

  await hook();
  let [hooked, child] = [single, single];
  const webhook = await measureWithin(
    async () => {
      const post = await schedule(1, soonMs);
      hooked = await finished(post, 'published');
      child = await delivery(post);
      return plus(less(hooked, single), child);
    },
    { actions: 4, events: 17 },
  );
  const most = { events: hooked.events, actions: hooked.actions };
  const failed = await measureWithin(() => {
    refuseNext();
    return soon(1, 'post_failed')();
  }, most);

  log(t, 'asleep', sleeping);
  log(t, 'plus a reschedule', rescheduled);
  log(t, 'one channel', single, `the nearest peer: ${peer.one}`);
  log(t, 'five channels', fivefold, `the nearest peer: ${peer.five}`);
  log(t, 'plus a webhook', webhook, `${child.events} events in the child`);
  log(t, 'one channel, failed, with a webhook', failed);
  within(t, sleeping, { events: 5, actions: 2, bytes: 1500 });
  within(t, rescheduled, { events: 7, actions: 4 });
  within(t, single, { events: 19, actions: 6 });
  within(t, fivefold, { events: 43, actions: 10 });
  within(t, webhook, { actions: 4 });
  within(t, child, { events: 12 });
  within(t, failed, most);
});

const plus = (a: Cost, b: Cost): Cost => ({
  events: a.events + b.events,
  actions: a.actions + b.actions,
  bytes: a.bytes + b.bytes,
});

const less = (a: Cost, b: Cost): Cost =>
  plus(a, { events: -b.events, actions: -b.actions, bytes: -b.bytes });

function log(t: ExecutionContext, what: string, { events, actions, bytes }: Cost, also = ''): void {
  const columns = [what.padEnd(36), `${events} events`, `${actions} actions`, `${bytes} bytes`];
  t.log(
    [columns[0], ...columns.slice(1).map((column) => column.padStart(12)), `  ${also}`].join(''),
  );
}

function within(t: ExecutionContext, cost: Cost, limit: Partial<Cost>): void {
  for (const [unit, most] of Object.entries(limit)) {
    const found = cost[unit as keyof Cost];
    t.true(found > 0 && found <= most, `${found} ${unit}, at most ${most}`);
  }
}

/** Posts on fake networks, on a Temporal with our search attributes. */
async function world(t: ExecutionContext) {
  const fakes = [1, 2, 3, 4, 5].map(() => fakeNetwork());
  const networks = Object.fromEntries(fakes.map((network, index) => [`fake${index}`, network]));
  const receiver = await startReceiver(t);
  const punctual = await startApi(t, { networks, allowPorts: [receiver.port] });
  await poll(() => ensureSearchAttributes(punctual.temporal, testLog), Boolean);
  await startWorkers(t, punctual);
  const client = await newClient(punctual);
  const channels: string[] = [];
  for (const name of Object.keys(networks)) {
    channels.push(await addFakeChannel(punctual.deps, client.workspaceId, name));
  }

  const { workflow } = punctual.temporal.client;
  const handleOf = (post: string) => workflow.getHandle(`post-${post}`);
  const at = (inMs: number): string => new Date(Date.now() + inMs).toISOString();
  return {
    handleOf,
    schedule: async (count: number, inMs: number): Promise<string> => {
      const channel_ids = channels.slice(0, count);
      const request = { body: 'Counted', channel_ids, scheduled_at: at(inMs) };
      return (await client.post('/posts', request)).body.post.id;
    },
    /** Resolves when the workflow has received the signal. */
    reschedule: async (post: string): Promise<void> => {
      await client.patch(`/posts/${post}`, { scheduled_at: at(2 * hour) });
      await poll(
        () => currentDetails(handleOf(post)),
        (shown) => shown.includes('revision 2'),
      );
    },
    hook: () =>
      client.post('/webhooks', { url: receiver.url, events: ['post.published', 'post.failed'] }),
    refuseNext: () => {
      const error = new NetworkError('content_refused', 'No.', { accepted: 'no' });
      fakes[0]?.fates.push({ kind: 'fails', error });
    },
    /** Waits until a post's workflow has ended. @returns its cost. */
    finished: async (post: string, result: string): Promise<Cost> => {
      const handle = await untilBegun(handleOf(post), 5);
      t.is(await endOf(handle), result);
      return costOf(handle);
    },
    /** Waits until the delivery of a post's event has ended. @returns its cost. */
    delivery: async (post: string): Promise<Cost> => {
      const [row] = await punctual.orm.em
        .fork()
        .execute<{ id: string }[]>(
          `select d.id from deliveries d join events e on e.id = d.event_id where e.post_id = ?`,
          [post],
        );
      const handle = workflow.getHandle(`delivery-${row?.id}`);
      await handle.result();
      return costOf(handle);
    },
  };
}

// Temporal suggests a new history at 4,096 events, which are about 600 reschedules; here at 60 events, which are nine.
needs('temporal')(
  'a post that was rescheduled a hundred times goes out once, at its last time',
  async (t) => {
    const network = fakeNetwork();
    const temporalEnv = await ownTemporal(t, ['limit.historyCount.suggestContinueAsNew=60']);
    const punctual = await startPunctual(t, { networks: { fake: network }, temporalEnv });
    const client = await newClient(punctual);
    const at = (inMs: number): string => new Date(Date.now() + inMs).toISOString();
    const { body } = await client.post('/posts', {
      body: 'Hello',
      channel_ids: [await addFakeChannel(punctual.deps, client.workspaceId)],
      scheduled_at: at(hour),
    });
    const post: string = body.post.id;
    const handle = punctual.temporal.client.workflow.getHandle(`post-${post}`);
    const first = await poll(
      () => handle.describe().catch(() => null),
      (found) => found !== null,
    );
    for (let move = 1; move < 100; move += 1) {
      const scheduled_at = at((move % 2 === 0 ? 1 : 2) * hour + move);
      t.is((await client.patch(`/posts/${post}`, { scheduled_at })).status, 200);
    }

    const signalled = (revision: number): Promise<unknown> =>
      poll(
        () => currentDetails(handle),
        (shown) => shown.includes(`revision ${revision}`),
      );
    await signalled(100);
    // Signals may arrive out of order. The workflow then asks the database, and the next reschedule begins a new
    // history.
    let now = await handle.describe();
    for (let revision = 101; now.historyLength >= 75 && revision <= 110; revision += 1) {
      await client.patch(`/posts/${post}`, { scheduled_at: at(hour + revision) });
      await signalled(revision);
      now = await handle.describe();
    }

    t.true(now.historyLength < 75);
    t.not(now.runId, first?.runId);
    t.deepEqual(now.searchAttributes['WorkspaceId'], [client.workspaceId]);
    t.deepEqual(now.searchAttributes['Networks'], ['fake']);
    const last = at(2000);
    await client.patch(`/posts/${post}`, { scheduled_at: last });

    const { status, published_at } = await client.finalPost(post);
    t.is(status, 'published');
    t.true(Date.parse(published_at ?? '') >= Date.parse(last));
    t.is(network.sends.length, 1);
  },
);
