import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { count, type Bench, type Run } from '../runner/bench.ts';
import { startSystem, type System } from '../runner/processes.ts';
import { type RecordingNetwork, startRecordingNetwork } from '../runner/recording-network.ts';
import { type SeededPost, seedPosts, syncPosts } from '../runner/seed-posts.ts';
import { summarizeHistories } from './histories.ts';

/** Due times of the single posts, in seconds after the burst's. */
const after = [0, 1, 2, 3, 5, 8, 12, 20, 30, 45, 60, 80, 100];

/** Number of the burst's workflows whose histories are read. */
const first = 200;

/** Number of workflows started first, to estimate the time for all. */
const sample = 100;

/**
 * `npm run bench fairness -- [--posts 10000]`: many posts of one workspace are due in the same second. Measures how
 * late single posts of other workspaces are published meanwhile.
 */
export const bench: Bench<Plan, World> = {
  readOptions: (args) => {
    const options = { posts: { type: 'string', default: '10000' } } as const;
    return { posts: count(parseArgs({ args: [...args], options }).values.posts) };
  },
  prepare: async ({ folder, stage }) => {
    const network = await startRecordingNetwork();
    return { ...(await startSystem(folder, [network.port], stage)), network };
  },
  measure,
  close: ({ orm, temporal, network }) =>
    Promise.all([network.close(), temporal.close(), orm.close()]),
};

type Plan = { readonly posts: number };
type World = System & { readonly network: RecordingNetwork };

async function measure(
  system: World,
  { options: { posts }, stage: { say }, target }: Run<Plan>,
): Promise<void> {
  const { network } = system;
  const dueMs = Date.now() + (await setUpMs(system, network, posts));
  const times = Array.from({ length: posts }, () => dueMs);
  const many = await seedPosts(system, planOf('many', network, 200), times);
  const singles: SeededPost[] = [];
  for (const seconds of after) {
    const plan = planOf(`single-${seconds}`, network, 1);
    singles.push(...(await seedPosts(system, plan, [dueMs + seconds * 1000])));
  }

  await syncPosts(system.temporal.client, system.orm, [...singles, ...many]);
  const spareMs = dueMs - Date.now();
  say(
    `${posts} posts are waiting for their timers, ${Math.round(spareMs / 1000)} s before they are due.`,
  );
  const passed = await watch(network, many, singles);
  const firstMs = Math.min(...many.flatMap(({ text }) => network.arrivals.get(text) ?? []));
  say(
    `The first post of the burst was published ${((firstMs - dueMs) / 1000).toFixed(2)} s after its due time.`,
  );
  say(`The first ${first} of the burst, after their due time:`);
  (await summarizeHistories(system.temporal, many.slice(0, first), dueMs)).forEach(say);
  target('all were started before they were due', spareMs > 0);
  report(passed, posts, say, target);
}

const planOf = (name: string, { url }: RecordingNetwork, channels: number) => ({
  name,
  platform: 'mastodon',
  networkUrl: url,
  channels,
});

/** Starts the workflows of some posts that are due in a day. @returns the estimated time for all, with a margin. */
async function setUpMs(system: System, network: RecordingNetwork, posts: number): Promise<number> {
  const times = Array.from({ length: sample }, () => Date.now() + 86_400_000);
  const some = await seedPosts(system, planOf('sample', network, 1), times);
  const beganMs = Date.now();
  await syncPosts(system.temporal.client, system.orm, some);
  // Later starts take longer than the sample: with a factor of 1.5, some were started after their due time.
  return 30_000 + ((Date.now() - beganMs) / sample) * posts * 2.5;
}

/** Waits until every single post is published, for ten minutes at most. */
async function watch(
  { arrivals }: RecordingNetwork,
  many: readonly SeededPost[],
  singles: readonly SeededPost[],
): Promise<Passed[]> {
  const lastMs = Math.max(...singles.map(({ dueAtMs }) => dueAtMs)) + 600_000;
  while (singles.some(({ text }) => !arrivals.has(text)) && Date.now() < lastMs) {
    await sleep(500);
  }

  const out = many.flatMap(({ text }) => arrivals.get(text) ?? []);
  const waitingAt = (ms: number): number => many.length - out.filter((at) => at <= ms).length;
  return singles.map(({ text, dueAtMs }) => {
    const arrivedMs = arrivals.get(text) ?? Number.POSITIVE_INFINITY;
    const waiting = { waitingAtDue: waitingAt(dueAtMs), waitingWhenOut: waitingAt(arrivedMs) };
    return { lateMs: arrivedMs - dueAtMs, ...waiting };
  });
}

/** The longest acceptable delay of a single post, in milliseconds. */
const targetMs = 5000;

/** A single post, with the burst that was waiting. */
type Passed = {
  /** Infinity when it was not published. */
  readonly lateMs: number;
  /** Unpublished posts of the burst at the single post's due time and at its publication. */
  readonly waitingAtDue: number;
  readonly waitingWhenOut: number;
};

/** Prints the table and the targets. */
function report(
  passed: readonly Passed[],
  posts: number,
  say: (line: string) => void,
  target: Run<Plan>['target'],
): void {
  say(`\n  waiting of ${posts} at its time    when it went out    late by`);
  for (const { lateMs, waitingAtDue, waitingWhenOut } of passed) {
    const columns = [String(waitingAtDue).padStart(20), String(waitingWhenOut).padStart(20)];
    say(`${columns.join('')} ${(lateMs / 1000).toFixed(2).padStart(13)} s`);
  }

  const crowded = passed.filter(({ waitingAtDue }) => waitingAtDue > 0);
  const early = passed.filter(({ lateMs }) => lateMs < 0);
  const worstMs = Math.max(...passed.map(({ lateMs }) => lateMs));
  target(`single posts behind a burst: ${crowded.length}`, crowded.length > 0);
  target(`posts before their due time: ${early.length}`, early.length === 0);
  target(`the latest was ${worstMs} ms late; the target is ${targetMs} ms`, worstMs <= targetMs);
}
