import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { count, type Bench, type Run } from '../runner/bench.ts';
import { startWhole, type Whole } from '../runner/processes.ts';
import { type RecordingNetwork, startRecordingNetwork } from '../runner/recording-network.ts';
import { type SeededPost, seedPosts, syncPosts } from '../runner/seed-posts.ts';
import { summarizeHistories } from './histories.ts';

/** When the others' single posts are due, in seconds after the crowd. */
const after = [0, 1, 2, 3, 5, 8, 12, 20, 30, 45, 60, 80, 100];

/** Of how many of the crowd the histories are read. */
const first = 200;

/** How many workflows are started first, to see how long all will take. */
const sample = 100;

/**
 * `npm run bench fairness -- [--posts 10000]`: so many posts of one workspace, due in the same second, and how long
 * after its time the single post of another goes out meanwhile.
 */
export const bench: Bench<Plan, World> = {
  readOptions: (args) => {
    const options = { posts: { type: 'string', default: '10000' } } as const;
    return { posts: count(parseArgs({ args: [...args], options }).values.posts) };
  },
  prepare: async ({ folder, stage }) => {
    const network = await startRecordingNetwork();
    return { ...(await startWhole(folder, [network.port], stage)), network };
  },
  measure,
  close: ({ orm, temporal, network }) =>
    Promise.all([network.close(), temporal.close(), orm.close()]),
};

type Plan = { readonly posts: number };
type World = Whole & { readonly network: RecordingNetwork };

async function measure(
  whole: World,
  { options: { posts }, stage: { say }, target }: Run<Plan>,
): Promise<void> {
  const { network } = whole;
  const dueMs = Date.now() + (await setUpMs(whole, network, posts));
  const times = Array.from({ length: posts }, () => dueMs);
  const many = await seedPosts(whole, planOf('many', network, 200), times);
  const singles: SeededPost[] = [];
  for (const seconds of after) {
    const plan = planOf(`single-${seconds}`, network, 1);
    singles.push(...(await seedPosts(whole, plan, [dueMs + seconds * 1000])));
  }

  await syncPosts(whole.temporal.client, whole.orm, [...singles, ...many]);
  const spareMs = dueMs - Date.now();
  say(`${posts} posts are asleep, ${Math.round(spareMs / 1000)} s before they are due.`);
  const passed = await watch(network, many, singles);
  const firstMs = Math.min(...many.flatMap(({ text }) => network.arrivals.get(text) ?? []));
  say(`The first of the crowd went out ${((firstMs - dueMs) / 1000).toFixed(2)} s after its time.`);
  say(`The first ${first} of the crowd, after their time:`);
  (await summarizeHistories(whole.temporal, many.slice(0, first), dueMs)).forEach(say);
  target('all were asleep before they were due', spareMs > 0);
  report(passed, posts, say, target);
}

const planOf = (name: string, { url }: RecordingNetwork, channels: number) => ({
  name,
  platform: 'mastodon',
  networkUrl: url,
  channels,
});

/** Starts the workflows of some posts that are due in a day. @returns how long all will take, with something to spare. */
async function setUpMs(whole: Whole, network: RecordingNetwork, posts: number): Promise<number> {
  const times = Array.from({ length: sample }, () => Date.now() + 86_400_000);
  const some = await seedPosts(whole, planOf('sample', network, 1), times);
  const beganMs = Date.now();
  await syncPosts(whole.temporal.client, whole.orm, some);
  // The later ones take longer than the sample: with a factor of 1.5 some were started after their time.
  return 30_000 + ((Date.now() - beganMs) / sample) * posts * 2.5;
}

/** Waits until every single post is out, for ten minutes at most. */
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

/** The longest that a workspace's single post may be late because of another's many, in milliseconds. */
const targetMs = 5000;

/** A single post that had to pass a crowd. */
type Passed = {
  /** Infinity when it never went out. */
  readonly lateMs: number;
  /** How many of the crowd were not out yet, at the single post's time and when it went out. */
  readonly waitingAtDue: number;
  readonly waitingWhenOut: number;
};

/** Prints the table, and names the targets. */
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
  target(`single posts with a crowd before them: ${crowded.length}`, crowded.length > 0);
  target(`posts before their time: ${early.length}`, early.length === 0);
  target(`the latest was late by ${worstMs} ms; the target is ${targetMs} ms`, worstMs <= targetMs);
}
