import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { count, type Bench, type Run } from '../runner/bench.ts';
import { startSystem, type System } from '../runner/processes.ts';
import { quantile } from '../runner/quantile.ts';
import { startRecordingNetwork, type RecordingNetwork } from '../runner/recording-network.ts';
import { type SeededPost, seedPosts, syncPosts } from '../runner/seed-posts.ts';

/** The longest acceptable delay of a post to the responsive server, in milliseconds. */
const targetMs = 1000;

/** Interval between two posts to the responsive server, in milliseconds. */
const apartMs = 500;

/** Longest wait after the last due time, in milliseconds. */
const patienceMs = 60_000;

type Plan = {
  /** Number of posts to the responsive server: once alone, and once together with the hung ones. */
  readonly posts: number;
  /** Number of another workspace's posts to a server that accepts connections and never responds, all due at once. */
  readonly hung: number;
};

/**
 * `npm run bench hung-server -- [--posts 120] [--hung 120]`: the delay of posts to a responsive server, first alone and
 * then while another workspace's posts go to a hung Mastodon server. The hung ones are due together with the first of
 * the others.
 */
export const bench: Bench<Plan, World> = {
  readOptions: (args) => {
    const options = {
      posts: { type: 'string', default: '120' },
      hung: { type: 'string', default: '120' },
    } as const;
    const { values } = parseArgs({ args: [...args], options });
    return { posts: count(values.posts), hung: count(values.hung) };
  },
  prepare: async ({ folder, stage }) => {
    const network = await startRecordingNetwork();
    const silent = await startSilentServer();
    const system = await startSystem(folder, [network.port, silent.port], stage);
    return { ...system, network, silent };
  },
  measure,
  close: ({ orm, temporal, network, silent }) =>
    Promise.all([network.close(), silent.close(), temporal.close(), orm.close()]),
};

type World = System & { readonly network: RecordingNetwork; readonly silent: SilentServer };

async function measure(
  world: World,
  { options: { posts, hung }, stage: { say }, target }: Run<Plan>,
): Promise<void> {
  const { network, silent } = world;
  const alone = await lateness(network, await schedule(world, 'alone', posts));
  const beside = await schedule(world, 'beside', posts);
  const dueMs = beside[0]?.dueAtMs ?? 0;
  const hanging = { name: 'hung', platform: 'mastodon', networkUrl: silent.url, channels: 20 };
  const times = Array.from({ length: hung }, () => dueMs);
  await syncPosts(world.temporal.client, world.orm, await seedPosts(world, hanging, times));
  const isInTime = Date.now() < dueMs;
  const late = await lateness(network, beside);

  say(`\n${posts} posts, one every ${apartMs} ms, after their due time`);
  say(`  alone                               ${inWords(alone)}`);
  say(`  with ${String(hung).padStart(4)} to a hung server          ${inWords(late)}`);
  say(`  most concurrent connections to the hung server: ${silent.most()}`);
  const latest = Math.max(...late);
  target(`posts before their due time: ${early(late)}`, early(late) === 0);
  target('the hung server got requests', isInTime && silent.most() > 0);
  target(`the latest ${latest} ms; the target is ${targetMs} ms`, latest <= targetMs);
}

const early = (late: readonly number[]): number => late.filter((ms) => ms < 0).length;

const inWords = (late: readonly number[]): string =>
  `half within ${quantile(late, 0.5)} ms, 99 of 100 within ${quantile(late, 0.99)} ms, the latest ${Math.max(...late)} ms`;

/** Stores posts to the responsive server and starts their workflows. The first is due in 20 s. */
async function schedule(world: World, name: string, posts: number): Promise<SeededPost[]> {
  const fromMs = Date.now() + 20_000;
  const times = Array.from({ length: posts }, (_, n) => fromMs + n * apartMs);
  const plan = { name, platform: 'mastodon', networkUrl: world.network.url, channels: 20 };
  const seeded = await seedPosts(world, plan, times);
  await syncPosts(world.temporal.client, world.orm, seeded);
  return seeded;
}

/** Waits until all are published. @returns their delays in milliseconds; Infinity for missing posts. */
async function lateness(
  { arrivals }: RecordingNetwork,
  posts: readonly SeededPost[],
): Promise<number[]> {
  const endMs = Math.max(...posts.map(({ dueAtMs }) => dueAtMs)) + patienceMs;
  while (posts.some(({ text }) => !arrivals.has(text)) && Date.now() < endMs) {
    await sleep(200);
  }

  return posts.map(({ text, dueAtMs }) => (arrivals.get(text) ?? Infinity) - dueAtMs);
}

type SilentServer = Awaited<ReturnType<typeof startSilentServer>>;

/** Accepts connections and never responds. */
async function startSilentServer() {
  let open = 0;
  let most = 0;
  const server = createServer((socket) => {
    open += 1;
    most = Math.max(most, open);
    socket.on('error', () => undefined).on('close', () => (open -= 1));
    socket.resume();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    most: () => most,
    close: () => Promise.resolve(void server.close()),
  };
}
