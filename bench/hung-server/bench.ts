import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Stage } from '../../scripts/parts/part.ts';
import { count } from '../count.ts';
import { machineFacts } from '../machine.ts';
import { quantile } from '../quantile.ts';
import { verdict } from '../verdict.ts';
import { inOwnFolder } from '../whole/in-own-folder.ts';
import { startRecordingNetwork, type RecordingNetwork } from '../whole/recording-network.ts';
import { seedPosts, type SeededPost } from '../whole/seed-posts.ts';
import { startWhole, type Whole } from '../whole/start-whole.ts';
import { tellPosts } from '../whole/tell-posts.ts';

/** From a post's time to its request, in milliseconds: what each post to a server that answers stays below. */
const targetMs = 1000;

/** Between the times of two posts to the server that answers, in milliseconds. */
const apartMs = 500;

/** How long after the last one's time the bench still waits for them, in milliseconds. */
const patienceMs = 60_000;

type Plan = {
  /** Posts to the server that answers: so many alone, and as many again beside those to the one that hangs. */
  readonly posts: number;
  /** Posts of another workspace to a server that takes connections and never answers, all due at once. */
  readonly hung: number;
};

/**
 * `npm run bench hung-server -- [--posts 120] [--hung 120]`: how late posts are whose server answers, first by
 * themselves and then while those of another workspace go to a Mastodon server that hangs. The hung ones are due when
 * the first of the others is.
 *
 * @returns whether each went out within the target, with the hung server beside it.
 */
export function run(args: readonly string[]): Promise<boolean> {
  const options = {
    posts: { type: 'string', default: '120' },
    hung: { type: 'string', default: '120' },
  } as const;
  const { values } = parseArgs({ args: [...args], options });
  const plan = { posts: count(values.posts), hung: count(values.hung) };
  return inOwnFolder((folder, stage) => measure(folder, stage, plan));
}

async function measure(folder: string, stage: Stage, { posts, hung }: Plan): Promise<boolean> {
  const network = await startRecordingNetwork();
  const silent = await startSilentServer();
  const whole = await startWhole(folder, [network.port, silent.port], stage);
  const [version] = await whole.orm.em.fork().execute<object[]>('show server_version');
  machineFacts(Object.values(version ?? {}).join()).forEach(stage.say);

  const alone = await lateness(network, await schedule(whole, network, 'alone', posts));
  const beside = await schedule(whole, network, 'beside', posts);
  const dueMs = beside[0]?.dueAtMs ?? 0;
  const hanging = { name: 'hung', platform: 'mastodon', networkUrl: silent.url, channels: 20 };
  const times = Array.from({ length: hung }, () => dueMs);
  await tellPosts(whole.temporal.client, whole.orm, await seedPosts(whole, hanging, times));
  const isInTime = Date.now() < dueMs;
  const late = await lateness(network, beside);

  stage.say(`\n${posts} posts, one each ${apartMs} ms, after their time`);
  stage.say(`  by themselves                        ${inWords(alone)}`);
  stage.say(`  beside ${String(hung).padStart(4)} to a server that hangs    ${inWords(late)}`);
  stage.say(`  connections that the hung server had at a time, at most: ${silent.most()}`);
  silent.close();
  await Promise.all([network.close(), whole.temporal.close(), whole.orm.close()]);
  const latest = Math.max(...late);
  return [
    verdict(stage.say, `posts before their time: ${early(late)}`, early(late) === 0),
    verdict(stage.say, `the hung server was asked`, isInTime && silent.most() > 0),
    verdict(stage.say, `the latest ${latest} ms; the target is ${targetMs} ms`, latest <= targetMs),
  ].every(Boolean);
}

const early = (late: readonly number[]): number => late.filter((ms) => ms < 0).length;

const inWords = (late: readonly number[]): string =>
  `half within ${quantile(late, 0.5)} ms, 99 of 100 within ${quantile(late, 0.99)} ms, the latest ${Math.max(...late)} ms`;

/** Stores posts to the server that answers, and tells Temporal of them. There are 20 s until the first is due. */
async function schedule(
  whole: Whole,
  { url }: RecordingNetwork,
  name: string,
  posts: number,
): Promise<SeededPost[]> {
  const fromMs = Date.now() + 20_000;
  const times = Array.from({ length: posts }, (_, n) => fromMs + n * apartMs);
  const plan = { name, platform: 'mastodon', networkUrl: url, channels: 20 };
  const seeded = await seedPosts(whole, plan, times);
  await tellPosts(whole.temporal.client, whole.orm, seeded);
  return seeded;
}

/** Waits until all are out. @returns how late each was, in milliseconds; Infinity of one that never came. */
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

/** Takes connections and says nothing. */
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
    close: () => void server.close(),
  };
}
