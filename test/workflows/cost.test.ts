import type { ExecutionContext } from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { ensureSearchAttributes } from '../../temporal/search-attributes.ts';
import { blueskyAccount, addBlueskyChannel, networkPorts } from '../support/accounts.ts';
import { newClient } from '../support/client.ts';
import { costOf, type Cost } from '../support/cost-of.ts';
import { addFakeChannel } from '../support/seed.ts';
import { fakeNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { startApi, startPunctual, startWorkers } from '../support/punctual.ts';
import { startReceiver } from '../support/receiver.ts';
import { testLog } from '../support/temporal.ts';
import { untilBegun } from '../support/until-begun.ts';

const hour = 60 * 60_000;

/** Long enough that the post is asleep before its time comes. */
const soonMs = 8000;

/** What the closest relative of this project needs, as counted from its sources. */
const peer = { one: '87 events, 15 to 29 actions', five: '401 events, 69 to 89 actions' };

needs('temporal')('a post costs Temporal no more than this', async (t) => {
  const { schedule, reschedule, hook, refuseNext, finished, handleOf, deliveries } = await world(t);
  const [asleep, moved] = [await schedule(1, hour), await twice(() => schedule(1, hour))];
  const [one, five] = [
    await twice(() => schedule(1, soonMs)),
    await twice(() => schedule(5, soonMs)),
  ];
  const sleeping = await costOf(await untilBegun(handleOf(asleep), 5));
  const afterMove = await cheapest(moved, async (post) => {
    await untilBegun(handleOf(post), 5);
    await reschedule(post);
    return costOf(await untilBegun(handleOf(post), 11));
  });
  const rescheduled = less(afterMove, sleeping);
  const single = await cheapest(one, (post) => finished(post, 'published'));
  const fivefold = await cheapest(five, (post) => finished(post, 'published'));

  await hook();
  const told = await twice(() => schedule(1, soonMs));
  const hooked = await cheapest(told, (post) => finished(post, 'published'));
  const child = await cheapest(await deliveries(), async (delivery) => delivery);
  const webhook = plus(less(hooked, single), child);
  refuseNext();
  refuseNext();
  const refused = await twice(() => schedule(1, soonMs));
  const failed = await cheapest(refused, (post) => finished(post, 'failed'));

  log(t, 'asleep', sleeping);
  log(t, 'a reschedule more', rescheduled);
  log(t, 'one channel', single, `the nearest peer: ${peer.one}`);
  log(t, 'five channels', fivefold, `the nearest peer: ${peer.five}`);
  log(t, 'a webhook more', webhook, `${child.events} events in the child`);
  log(t, 'one channel, failed, with a webhook', failed);
  within(t, sleeping, { events: 5, actions: 2, bytes: 1024 });
  within(t, rescheduled, { events: 6, actions: 2 });
  within(t, single, { events: 18, actions: 5 });
  within(t, fivefold, { events: 42, actions: 9 });
  within(t, webhook, { actions: 4 });
  within(t, child, { events: 12 });
  within(t, failed, { events: hooked.events + 1, actions: hooked.actions + 1 });
});

needs('temporal', 'pds')('a post on a real network costs no more than one on a fake', async (t) => {
  const punctual = await startPunctual(t, { allowPorts: networkPorts() });
  const client = await newClient(punctual);
  const channel = await addBlueskyChannel(punctual, client.workspaceId, await blueskyAccount());

  const scheduled_at = new Date(Date.now() + soonMs).toISOString();
  const request = { body: 'Counted', channel_ids: [channel], scheduled_at };
  const posts = await twice(async () => (await client.post('/posts', request)).body.post.id);
  const cost = await cheapest(posts, async (post: string) => {
    const handle = punctual.temporal.client.workflow.getHandle(`post-${post}`);
    await untilBegun(handle, 5);
    t.is(await handle.result(), 'published');
    return costOf(handle);
  });
  log(t, 'one channel, Bluesky', cost);
  within(t, cost, { events: 18, actions: 5 });
});

const twice = async <T>(make: () => Promise<T>): Promise<T[]> => [await make(), await make()];

/**
 * What it costs by itself: a machine that stalls only adds to it, as a message that was not acknowledged in time is
 * told once more, and a task that nobody took in time is dispatched anew.
 */
async function cheapest<T>(all: readonly T[], cost: (one: T) => Promise<Cost>): Promise<Cost> {
  const costs = await Promise.all(all.map(cost));
  const [least] = costs.toSorted((a, b) => a.events - b.events);
  return least ?? { events: 0, actions: 0, bytes: 0 };
}

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

/** Posts on fake networks, on a Temporal that knows our search attributes. */
async function world(t: ExecutionContext) {
  const fakes = [1, 2, 3, 4, 5].map(() => fakeNetwork());
  const networks = Object.fromEntries(fakes.map((network, index) => [`fake${index}`, network]));
  const receiver = await startReceiver(t);
  const punctual = await startApi(t, { networks, allowPorts: [receiver.port] });
  await ensureSearchAttributes(punctual.temporal, testLog);
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
    reschedule: (post: string) => client.patch(`/posts/${post}`, { scheduled_at: at(2 * hour) }),
    hook: () =>
      client.post('/webhooks', { url: receiver.url, events: ['post.published', 'post.failed'] }),
    refuseNext: () => {
      const error = new NetworkError('content_refused', 'No.', { taken: 'no' });
      fakes[0]?.fates.push({ kind: 'fails', error });
    },
    /** What a post has cost when its workflow is over. */
    finished: async (post: string, result: string): Promise<Cost> => {
      const handle = await untilBegun(handleOf(post), 5);
      t.is(await handle.result(), result);
      return costOf(handle);
    },
    /** What the deliveries of all posts have cost. */
    deliveries: async (): Promise<Cost[]> => {
      const rows = await punctual.orm.em.execute<{ id: string }[]>('select id from deliveries');
      const handles = rows.map(({ id }) => workflow.getHandle(`delivery-${id}`));
      return Promise.all(handles.map((handle) => handle.result().then(() => costOf(handle))));
    },
  };
}
