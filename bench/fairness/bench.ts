import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Stage } from '../../scripts/parts/part.ts';
import { machineFacts } from '../machine.ts';
import { inOwnFolder } from '../whole/in-own-folder.ts';
import { startRecordingNetwork, type RecordingNetwork } from '../whole/recording-network.ts';
import { seedPosts, type SeededPost } from '../whole/seed-posts.ts';
import { startWhole, type Whole } from '../whole/start-whole.ts';
import { tellPosts } from '../whole/tell-posts.ts';
import { tellHistories } from './histories.ts';
import { report, type Passed } from './report.ts';

/** When the others' single posts are due, in seconds after the crowd. */
const after = [0, 1, 2, 3, 5, 8, 12, 20, 30, 45, 60, 80, 100];

/** Of how many of the crowd the histories are read. */
const first = 200;

/** How many are told of first, to see how long all will take. */
const sample = 100;

/**
 * `npm run bench fairness -- [--posts 10000]`: so many posts of one workspace, due in the same second, and how long
 * after its time the single post of another goes out meanwhile. @returns whether each did within the target.
 */
export function run(args: readonly string[]): Promise<boolean> {
  const options = { posts: { type: 'string', default: '10000' } } as const;
  const { values } = parseArgs({ args: [...args], options });
  return inOwnFolder((folder, stage) => measure(folder, stage, Number(values.posts)));
}

async function measure(folder: string, stage: Stage, posts: number): Promise<boolean> {
  const network = await startRecordingNetwork();
  const whole = await startWhole(folder, [network.port], stage);
  const [version] = await whole.orm.em.fork().execute<object[]>('show server_version');
  machineFacts(Object.values(version ?? {}).join()).forEach(stage.say);

  const dueMs = Date.now() + (await setUpMs(whole, network, posts));
  const times = Array.from({ length: posts }, () => dueMs);
  const many = await seedPosts(whole, planOf('many', network, 200), times);
  const singles: SeededPost[] = [];
  for (const seconds of after) {
    const plan = planOf(`single-${seconds}`, network, 1);
    singles.push(...(await seedPosts(whole, plan, [dueMs + seconds * 1000])));
  }

  await tellPosts(whole.temporal.client, whole.orm, [...singles, ...many]);
  const spareMs = dueMs - Date.now();
  stage.say(`${posts} posts are asleep, ${Math.round(spareMs / 1000)} s before they are due.`);
  const passed = await watch(network, many, singles);
  const firstMs = Math.min(...many.flatMap(({ text }) => network.arrivals.get(text) ?? []));
  stage.say(
    `The first of the crowd went out ${((firstMs - dueMs) / 1000).toFixed(2)} s after its time.`,
  );
  stage.say(`The first ${first} of the crowd, after their time:`);
  (await tellHistories(whole.temporal, many.slice(0, first), dueMs)).forEach(stage.say);
  await Promise.all([network.close(), whole.temporal.close(), whole.orm.close()]);
  return report(passed, posts, stage.say) && spareMs > 0;
}

const planOf = (name: string, { url }: RecordingNetwork, channels: number) => ({
  name,
  platform: 'mastodon',
  networkUrl: url,
  channels,
});

/** Tells of some posts that are due in a day. @returns how long it takes to tell of all, with something to spare. */
async function setUpMs(whole: Whole, network: RecordingNetwork, posts: number): Promise<number> {
  const times = Array.from({ length: sample }, () => Date.now() + 86_400_000);
  const some = await seedPosts(whole, planOf('sample', network, 1), times);
  const beganMs = Date.now();
  await tellPosts(whole.temporal.client, whole.orm, some);
  return 30_000 + ((Date.now() - beganMs) / sample) * posts * 1.5;
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
