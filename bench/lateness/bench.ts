import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createApiKey } from '../../cli/workspaces.ts';
import type { Stage } from '../../scripts/parts/part.ts';
import { call } from '../api/call.ts';
import { startServer } from '../api/start-server.ts';
import { machineFacts } from '../machine.ts';
import { inOwnFolder } from '../whole/in-own-folder.ts';
import { startRecordingNetwork } from '../whole/recording-network.ts';
import { addChannels } from '../whole/seed-posts.ts';
import { startWhole, type Whole } from '../whole/start-whole.ts';
import { readSteps } from './read-steps.ts';
import { report } from './report.ts';
import { runBareTimers } from './run-bare-timers.ts';

/** How long after a post's time the bench still waits for it, in milliseconds. */
const patienceMs = 60_000;

/**
 * Between one post's creation and the next one's, in milliseconds; no time comes before all are there. Not faster, as the
 * machine is to be idle then too: Temporal counts a timer from when the worker has asked for it, so what the first
 * workflow task takes is what the post is late.
 */
const creationMs = 100;

/**
 * `npm run bench lateness -- [--posts 500] [--minutes 5]`: how long after its time a post's request reaches the
 * network, beside a bare timer of Temporal. @returns whether the target was met, and none was early.
 */
export function run(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      posts: { type: 'string', default: '500' },
      minutes: { type: 'string', default: '5' },
    },
  });
  const posts = Number(values.posts);
  const spanMs = Number(values.minutes) * 60_000;
  return inOwnFolder((folder, stage) => measure(folder, stage, { posts, spanMs }));
}

type Size = { readonly posts: number; readonly spanMs: number };

async function measure(folder: string, stage: Stage, { posts, spanMs }: Size): Promise<boolean> {
  const network = await startRecordingNetwork();
  const whole = await startWhole(folder, [network.port], stage);
  const [version] = await whole.orm.em.fork().execute<object[]>('show server_version');
  machineFacts(Object.values(version ?? {}).join()).forEach(stage.say);
  const post = await openApi(whole, network.url, folder, stage);

  const fromMs = Date.now() + 10_000 + posts * creationMs;
  const randomTimes = (): number[] =>
    Array.from({ length: posts }, () => fromMs + Math.floor(Math.random() * spanMs));
  const dueAtMs = randomTimes();
  const bareTimers = runBareTimers(whole, randomTimes(), creationMs);
  for (const [index, at] of dueAtMs.entries()) {
    await Promise.all([post(`Post ${index}`, at), sleep(creationMs)]);
  }

  const spareMs = fromMs - Date.now();
  stage.say(`${posts} posts are there, ${Math.round(spareMs / 1000)} s before the first is due.`);
  while (network.arrivals.size < posts && Date.now() < fromMs + spanMs + patienceMs) {
    await sleep(500);
  }

  const steps = await readSteps(whole, network.arrivals);
  const late = dueAtMs.map((at, n) => (network.arrivals.get(`Post ${n}`) ?? Number.NaN) - at);
  const bare = await bareTimers;
  await Promise.all([network.close(), whole.temporal.close(), whole.orm.close()]);
  return report({ late, bare, steps }, stage.say);
}

/** Starts the API, with limits that nobody reaches. @returns what schedules a post. */
async function openApi(
  whole: Whole,
  networkUrl: string,
  folder: string,
  stage: Stage,
): Promise<(body: string, atMs: number) => Promise<void>> {
  const unreachable = '1000000';
  const env = {
    ...whole.env,
    PUNCTUAL_RATE_LIMIT: unreachable,
    PUNCTUAL_RATE_LIMIT_WRITES: unreachable,
  };
  const { origin } = await startServer({ name: 'api', args: ['api/main.ts'], env, folder }, stage);
  const plan = { name: 'lateness', platform: 'mastodon', networkUrl, channels: 20 };
  const { workspaceId, channelIds } = await addChannels(whole, plan);
  const key = await createApiKey(whole.orm.em.fork(), workspaceId);
  let turn = 0;
  return async (body, atMs) => {
    turn += 1;
    await call(origin, key, 'POST', '/posts', {
      body,
      channel_ids: [channelIds[turn % channelIds.length]],
      scheduled_at: new Date(atMs).toISOString(),
    });
  };
}
