import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcessPart, Stage } from '../../scripts/parts/part.ts';
import { connectTemporal, type Temporal } from '../../temporal/connect.ts';
import { startTemporalServer, startWorker } from '../runner/processes.ts';
import {
  type Costs,
  costsOf,
  peakMiB,
  processorTime,
  spent,
  stolenShare,
} from '../runner/processor-time.ts';
import { quantile } from '../runner/quantile.ts';
import { countClosed, withRetries, untilClosed } from '../runner/workflows.ts';
import type { Contender } from './contenders.ts';
import type { World } from './world.ts';

export type Measured = {
  readonly posts: number;
  readonly perSecond: number;
  /** Time from the due time to the end of a post's workflow, in milliseconds. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time in seconds, from the due time until all were done. */
  readonly cpu: Costs<'worker' | 'temporal' | 'postgres' | 'sandboxes'>;
  readonly workerPeakMiB: number;
  /** The share of processor time that the host withheld from this machine, from 0 to 1. */
  readonly stolen: number;
};

/** Warms up the code, and shows how fast the machine is. */
const warmUpWorkflows = 60;

/** The lead time before the due time, as a multiple of the estimated duration of the starts. */
const leadFactor = 1.5;

/** The last posts were started after the due time, because the machine was busy. Measure again. */
export class TooLateError extends Error {
  override readonly name = 'TooLateError';
}

/** Prefix of the workflow ids, and the time limit for all of them. */
const workflowsOfPosts = { prefix: 'post-', withinMs: 400_000 };

export type Stand = {
  readonly world: World;
  readonly contender: Contender;
  readonly channels: number;
};

/** Measures a contender with its own fresh Temporal server and worker process. */
export async function measure(stand: Stand, posts: number): Promise<Measured> {
  const { world, contender } = stand;
  const server = await startTemporalServer(world, 'delete'); // The dev server's default.
  const temporal = connectTemporal(server.env);
  // The server responds shortly before its namespace exists.
  await withRetries(() => countClosed(temporal, workflowsOfPosts.prefix));
  const ground = { ...world, profile: world.options.profile };
  const env = { ...server.env, ...contender.workerEnv(world) };
  const worker = await startWorker(ground, contender, env);
  try {
    const perSecond = await warmUp(stand, temporal);
    return await measureWarm(
      stand,
      { posts, startsPerSecond: perSecond, temporal },
      { worker, server: server.part },
    );
  } finally {
    await temporal.close();
    for (const part of [worker, server.part]) {
      process.kill(part.pid, 'SIGTERM');
      await part.ended;
    }
  }
}

const warmUpPosts = (contender: Contender, channels: number): number =>
  Math.ceil(warmUpWorkflows / contender.workflowsPerPost(channels));

/** @returns the rate of starts in posts per second. */
async function warmUp({ world, contender, channels }: Stand, temporal: Temporal): Promise<number> {
  const posts = warmUpPosts(contender, channels);
  const startedMs = performance.now();
  const dueAt = new Date(Date.now() + 500);
  await contender.schedule(world, temporal, { posts, channels, dueAt });
  const seconds = (performance.now() - startedMs) / 1000;
  const workflows = posts * contender.workflowsPerPost(channels);
  await untilClosed(world.stage, temporal, { ...workflowsOfPosts, workflows });
  return posts / seconds;
}

async function measureWarm(
  { world, contender, channels }: Stand,
  {
    posts,
    startsPerSecond,
    temporal,
  }: { posts: number; startsPerSecond: number; temporal: Temporal },
  parts: { readonly worker: ProcessPart; readonly server: ProcessPart },
): Promise<Measured> {
  const leadMs = (posts / startsPerSecond) * leadFactor * 1000 + 3000;
  // A whole second, like times that users choose.
  const dueAt = new Date(Math.ceil((Date.now() + leadMs) / 1000) * 1000);
  await contender.schedule(world, temporal, { posts, channels, dueAt });
  const restMs = dueAt.getTime() - Date.now();
  if (restMs < 500) {
    throw new TooLateError();
  }

  await sleep(restMs - 50);
  const pids = {
    worker: [parts.worker.pid],
    temporal: [parts.server.pid],
    postgres: [world.postgresPid],
    sandboxes: world.sandboxes.map(({ pid }) => pid),
  };
  const [before, timeBefore] = [await costsOf(pids), await processorTime()];
  const workflows = contender.workflowsPerPost(channels);
  const all = (warmUpPosts(contender, channels) + posts) * workflows;
  await untilClosed(world.stage, temporal, { ...workflowsOfPosts, workflows: all });
  const [after, timeAfter] = [await costsOf(pids), await processorTime()];
  const due = { at: dueAt, workflows: posts * workflows };
  const closed = await closeTimes(world.stage, temporal, due);
  await contender.assertDone(world, { posts, channels, dueAt });
  const lags = closed.map((at) => at - dueAt.getTime());
  return {
    posts,
    perSecond: (posts * 1000) / Math.max(...lags),
    p50Ms: quantile(lags, 0.5),
    p99Ms: quantile(lags, 0.99),
    cpu: spent(after, before),
    workerPeakMiB: await peakMiB(parts.worker.pid),
    stolen: stolenShare(timeBefore, timeAfter),
  };
}

/**
 * The times at which the due workflows ended, by Temporal's clock, in milliseconds since 1970. Waits for this many
 * workflows instead of runs: a post that was synced twice has a second run, which finds it published.
 *
 * @throws Error when a workflow failed, or too few ended in time.
 */
async function closeTimes({ signal }: Stage, temporal: Temporal, due: Due): Promise<number[]> {
  const endMs = Date.now() + workflowsOfPosts.withinMs;
  for (;;) {
    const ended = await firstEnds(temporal, due.at);
    if (ended.size >= due.workflows) {
      return [...ended.values()].toSorted((a, b) => a - b).slice(0, due.workflows);
    }

    signal.throwIfAborted();
    if (Date.now() > endMs) {
      throw new Error(`Of ${due.workflows} workflows, ${ended.size} ended after their due time.`);
    }

    await sleep(200);
  }
}

type Due = { readonly at: Date; readonly workflows: number };

/**
 * By workflow id, the end of its first run that ended after a time. For `CloseTime >=`, Temporal treats the close time
 * of a running workflow as in the far future, so the query excludes running ones by status.
 */
async function firstEnds({ client }: Temporal, after: Date): Promise<Map<string, number>> {
  const query = `CloseTime >= '${after.toISOString()}' and ExecutionStatus != 'Running' and WorkflowId starts_with 'post-'`;
  const ended = new Map<string, number>();
  for await (const { closeTime, status, workflowId } of client.workflow.list({
    query,
    pageSize: 1000,
  })) {
    if (status.name !== 'COMPLETED' || !closeTime) {
      throw new Error(`The workflow ${workflowId} ended as ${status.name}.`, {
        cause: await client.workflow.result(workflowId).catch((error: unknown) => error),
      });
    }

    const first = ended.get(workflowId) ?? Number.POSITIVE_INFINITY;
    ended.set(workflowId, Math.min(first, closeTime.getTime()));
  }

  return ended;
}
