import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { forEachLimit } from '../../runtime/concurrency.ts';
import type { Stage } from '../../scripts/parts/part.ts';
import { deliveryWorkflowId } from '../../workflows/messages.ts';
import { count, type Bench, type Run } from '../runner/bench.ts';
import { startSystem, type System } from '../runner/processes.ts';
import { costsOf, spent, type Costs } from '../runner/processor-time.ts';
import { addChannels } from '../runner/seed-posts.ts';
import { withRetries } from '../runner/workflows.ts';
import { insertDeliveries, insertPosts, unfound } from './rows.ts';

/** Concurrent starts of the bare loop: as many as the relay's. */
const atOnce = 20;

/** A queue without a worker: its tasks stay waiting. */
const unpolledQueue = 'unpolled';

const longestMs = 30 * 60_000;

/**
 * `npm run bench recovery -- [--posts 3000] [--deliveries 3000]`: Temporal has lost the workflows of posts that are due
 * within ten minutes, and of one delivery behind many others with existing workflows. Measures how long until a worker has
 * started the lost ones again, compared with a bare loop of workflow starts.
 */
export const bench: Bench<Plan, System> = {
  readOptions: (args) => {
    const options = {
      posts: { type: 'string', default: '3000' },
      deliveries: { type: 'string', default: '3000' },
    } as const;
    const { posts, deliveries } = parseArgs({ args: [...args], options }).values;
    return { posts: count(posts), deliveries: count(deliveries) };
  },
  prepare: ({ folder, stage }) => startSystem(folder, [9], stage),
  measure,
  close: ({ orm, temporal }) => Promise.all([temporal.close(), orm.close()]),
};

type Plan = { readonly posts: number; readonly deliveries: number };

async function measure(system: System, run: Run<Plan>): Promise<void> {
  const { options: plan, stage } = run;
  const network = {
    name: 'lost',
    platform: 'mastodon',
    networkUrl: 'http://127.0.0.1:9',
    channels: 50,
  };
  const { workspaceId } = await addChannels(system, network);
  const em = system.orm.em.fork();

  const deliveryIds = await insertDeliveries(em, workspaceId, plan.deliveries);
  const waiting = deliveryIds.slice(0, -1); // The last one is the newest, which the sweep checks last.
  const bareBeganMs = Date.now();
  await forEachLimit(waiting, atOnce, (id) =>
    withRetries(() => startBare(system, workspaceId, id)),
  );
  const barePerSecond = waiting.length / ((Date.now() - bareBeganMs) / 1000);
  stage.say(
    `A bare loop started ${waiting.length} workflows, ${barePerSecond.toFixed(0)} a second.`,
  );

  await insertPosts(em, workspaceId, plan.posts);
  const seen = await watch(system, stage, plan.posts);
  report({ ...plan, ...seen, barePerSecond }, run);
}

const startBare = (
  { temporal }: System,
  workspaceId: string,
  deliveryId: string,
): Promise<unknown> =>
  temporal.client.workflow.start('deliverWebhook', {
    taskQueue: unpolledQueue,
    workflowId: deliveryWorkflowId(deliveryId),
    workflowIdConflictPolicy: 'USE_EXISTING',
    args: [{ workspaceId, deliveryId, round: 1 }],
  });

type Row = { readonly found: number; readonly back: number; readonly deliveries: number };

/** Seconds from the loss to each event; Infinity when it did not happen. */
type Seen = {
  readonly firstFound: number;
  readonly allFound: number;
  readonly allBack: number;
  readonly deliveryFound: number;
};

type Watched = Seen & {
  /** Seconds of processor time from the first lost post found until all were back. */
  readonly costs: Costs<keyof System['pids']>;
};

async function watch(
  { orm, pids }: System,
  { say, signal }: Stage,
  posts: number,
): Promise<Watched> {
  const beganMs = Date.now();
  let before = await costsOf(pids);
  let after = before;
  const seen = {
    firstFound: Infinity,
    allFound: Infinity,
    allBack: Infinity,
    deliveryFound: Infinity,
  };
  let saidMs = beganMs;
  while (
    Math.max(seen.allBack, seen.deliveryFound) === Infinity &&
    Date.now() < beganMs + longestMs
  ) {
    signal.throwIfAborted();
    await sleep(500);
    const [row] = await orm.em.fork().execute<Row[]>(
      `select count(*) filter (where synced_revision < ${unfound})::int as found,
         count(*) filter (where synced_revision = revision)::int as back,
         (select count(*)::int from deliveries where synced_round < ${unfound}) as deliveries
       from posts`,
    );
    const { found = 0, back = 0, deliveries = 0 } = row ?? {};
    const seconds = (Date.now() - beganMs) / 1000;
    const note = (what: keyof Seen, isSo: boolean): void => {
      seen[what] = isSo ? Math.min(seen[what], seconds) : seen[what];
    };
    before = found === 0 ? await costsOf(pids) : before;
    after = seen.allBack === Infinity ? await costsOf(pids) : after;
    note('firstFound', found > 0);
    note('allFound', found >= posts);
    note('allBack', back >= posts);
    note('deliveryFound', deliveries > 0);
    if (Date.now() > saidMs + 10_000) {
      saidMs = Date.now();
      say(`${seconds.toFixed(0).padStart(5)} s   ${found} of ${posts} posts found, ${back} back`);
    }
  }

  return { ...seen, costs: spent(after, before) };
}

/** The promise for 100,000 posts and deliveries: posts are back, and the delivery is found, within these seconds. */
const [crowd, postsTarget, deliveryTarget] = [100_000, 600, 300];

type Result = Watched & {
  readonly posts: number;
  readonly deliveries: number;
  readonly barePerSecond: number;
};

/** Prints the results and the targets. */
function report(result: Result, { stage: { say }, target }: Run<Plan>): void {
  const { posts, deliveries, firstFound, allFound, allBack, deliveryFound, barePerSecond } = result;
  const perSecond = posts / (allBack - firstFound);
  // A sweep starts each minute, so the wait for it does not depend on the number of posts.
  const ofCrowd = firstFound + crowd / perSecond;
  say(
    `\n  the first lost post was found after ${seconds(firstFound)}, all ${posts} after ${seconds(allFound)}`,
  );
  say(`  all were back after ${seconds(allBack)}: ${perSecond.toFixed(0)} a second`);
  const share = `${((perSecond / barePerSecond) * 100).toFixed(0)} % of the bare loop's ${barePerSecond.toFixed(0)}`;
  say(`  which is ${share}`);
  const { worker, temporal, postgres } = result.costs;
  const each = (cost: number): string => `${((1000 * cost) / posts).toFixed(1)} ms`;
  say(
    `  a post cost the worker ${each(worker)} of processor time, Temporal ${each(temporal)}, PostgreSQL ${each(postgres)}\n`,
  );
  target(
    `${crowd} posts are back after ${seconds(ofCrowd)} at this rate; the target is ${postsTarget} s`,
    ofCrowd <= postsTarget,
  );
  target(
    `the lost delivery behind ${deliveries - 1} was found after ${seconds(deliveryFound)}; the target is ${deliveryTarget} s`,
    deliveryFound <= deliveryTarget,
  );
}

const seconds = (value: number): string => `${value.toFixed(0)} s`;
