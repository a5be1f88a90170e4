import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createApiKey } from '../../cli/admin/workspaces.ts';
import type { Stage } from '../../scripts/parts/part.ts';
import { call } from '../api/load.ts';
import type { Bench, Run } from '../runner/bench.ts';
import { startServer, startSystem, type System } from '../runner/processes.ts';
import { quantile } from '../runner/quantile.ts';
import { startRecordingNetwork, type RecordingNetwork } from '../runner/recording-network.ts';
import { addChannels } from '../runner/seed-posts.ts';
import { runBareTimers } from './run-bare-timers.ts';

/** Longest wait after a post's due time, in milliseconds. */
const patienceMs = 60_000;

/**
 * Interval between two creations, in milliseconds; no post is due before all are created. Slow enough to keep the
 * machine idle: Temporal starts a timer when the worker has requested it, so the duration of the first workflow task
 * delays the post.
 */
const creationMs = 100;

/**
 * `npm run bench lateness -- [--posts 500] [--minutes 5]`: how long after its due time a post's request reaches the
 * network, compared with a bare Temporal timer.
 */
export const bench: Bench<Plan, World> = {
  readOptions: (args) => {
    const options = {
      posts: { type: 'string', default: '500' },
      minutes: { type: 'string', default: '5' },
    } as const;
    const { posts, minutes } = parseArgs({ args: [...args], options }).values;
    return { posts: Number(posts), spanMs: Number(minutes) * 60_000 };
  },
  prepare: async ({ folder, stage }) => {
    const network = await startRecordingNetwork();
    return { ...(await startSystem(folder, [network.port], stage)), network };
  },
  measure,
  close: ({ orm, temporal, network }) =>
    Promise.all([network.close(), temporal.close(), orm.close()]),
};

type Plan = { readonly posts: number; readonly spanMs: number };
type World = System & { readonly network: RecordingNetwork };

async function measure(system: World, run: Run<Plan>): Promise<void> {
  const { options, folder, stage } = run;
  const { posts, spanMs } = options;
  const { network } = system;
  const post = await openApi(system, network.url, folder, stage);

  const fromMs = Date.now() + 10_000 + posts * creationMs;
  const randomTimes = (): number[] =>
    Array.from({ length: posts }, () => fromMs + Math.floor(Math.random() * spanMs));
  const dueAtMs = randomTimes();
  const bareTimers = runBareTimers(system, randomTimes(), creationMs);
  for (const [index, at] of dueAtMs.entries()) {
    await Promise.all([post(`Post ${index}`, at), sleep(creationMs)]);
  }

  const spareMs = fromMs - Date.now();
  stage.say(
    `${posts} posts are scheduled, ${Math.round(spareMs / 1000)} s before the first is due.`,
  );
  while (network.arrivals.size < posts && Date.now() < fromMs + spanMs + patienceMs) {
    await sleep(500);
  }

  const steps = await readSteps(system, network.arrivals);
  const late = dueAtMs.map((at, n) => (network.arrivals.get(`Post ${n}`) ?? Number.NaN) - at);
  const bare = await bareTimers;
  report({ late, bare, steps }, run);
}

/** Starts the API, with limits that are never reached. @returns a function that schedules a post. */
async function openApi(
  system: System,
  networkUrl: string,
  folder: string,
  stage: Stage,
): Promise<(body: string, atMs: number) => Promise<void>> {
  const unreachable = '1000000';
  const env = {
    ...system.env,
    PUNCTUAL_RATE_LIMIT: unreachable,
    PUNCTUAL_RATE_LIMIT_WRITES: unreachable,
  };
  const { origin } = await startServer({ name: 'api', args: ['api/main.ts'], env, folder }, stage);
  const plan = { name: 'lateness', platform: 'mastodon', networkUrl, channels: 20 };
  const { workspaceId, channelIds } = await addChannels(system, plan);
  const key = await createApiKey(system.orm.em.fork(), workspaceId);
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

/** The acceptable 99th percentile of the delay until the network call on an idle machine, in milliseconds. */
const targetMs = 300;

type Lateness = {
  /** Delay of the network call after the due time, in milliseconds; NaN when there was none. */
  readonly late: readonly number[];
  /** The same for the bare timer. */
  readonly bare: readonly number[];
  readonly steps: readonly Steps[];
};

/** Prints the table and the targets. */
function report({ late, bare, steps }: Lateness, { stage: { say }, target }: Run<Plan>): void {
  say('\nMilliseconds after due time    earliest    p50    p90    p99   latest');
  say(row('a post, to the network call', late));
  say(
    row(
      '  until its attempt starts',
      steps.map(({ toAttempt }) => toAttempt),
    ),
  );
  say(
    row(
      '  until its intent is written',
      steps.map(({ toIntent }) => toIntent),
    ),
  );
  say(
    row(
      '  until the network has it',
      steps.map(({ toNetwork }) => toNetwork),
    ),
  );
  say(row('a bare timer of Temporal', bare));
  const missing = late.filter(Number.isNaN).length;
  const early = late.filter((ms) => ms < 0).length;
  const p99 = quantile(late, 0.99);
  target(`posts that were not published: ${missing}`, missing === 0);
  target(`posts before their due time: ${early}`, early === 0);
  target(`p99 is ${p99} ms; the target is ${targetMs} ms`, p99 <= targetMs);
}

const row = (name: string, sample: readonly number[]): string => {
  const columns = [0, 0.5, 0.9, 0.99, 1].map((share) => String(quantile(sample, share)));
  return [name.padEnd(31), ...columns.map((text, n) => text.padStart(n === 0 ? 7 : 6))].join(' ');
};

/** The parts of the delay, in milliseconds. */
type Steps = {
  /** Temporal wakes the workflow, it claims the post, and an attempt starts. */
  readonly toAttempt: number;
  /** The attempt prepares the request and commits its intent. */
  readonly toIntent: number;
  /** The request reaches the network. */
  readonly toNetwork: number;
};

type Row = {
  body: string;
  due_at: Date | string;
  tried_at: Date | string;
  sending_at: Date | string;
};

/** The times in the database of each published post. */
async function readSteps({ orm }: System, arrivals: ReadonlyMap<string, number>): Promise<Steps[]> {
  const rows = await orm.em.fork().execute<Row[]>(
    `select p.body, p.scheduled_at as due_at, pc.tried_at, a.sending_at
     from posts p
     join post_channels pc on pc.post_id = p.id and pc.workspace_id = p.workspace_id
     join post_parts a on a.post_channel_id = pc.id and a.workspace_id = pc.workspace_id
     where a.sending_at is not null`,
  );
  return rows.flatMap(({ body, ...times }) => {
    const arrivedMs = arrivals.get(body);
    const [due = 0, tried = 0, sending = 0] = [times.due_at, times.tried_at, times.sending_at].map(
      (at) => new Date(at).getTime(),
    );
    return arrivedMs === undefined
      ? []
      : [{ toAttempt: tried - due, toIntent: sending - tried, toNetwork: arrivedMs - sending }];
  });
}
