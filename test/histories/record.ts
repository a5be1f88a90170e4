/**
 * Records the histories that `test/workflows/replay.test.ts` replays: one of each kind of workflow, asleep, finished
 * and interrupted. Run it after a release that changes the workflows, and commit the new files. Never replace a history
 * of a release: posts of its kind may still be asleep somewhere.
 *
 * Usage, with the services of the tests running: node test/histories/record.ts FOLDER VERSION
 */
import type { ExecutionContext } from 'ava';
import { ownTemporal } from '../support/own-temporal.ts';
import { recordDeliveries } from './record-deliveries.ts';
import { recordPosts } from './record-posts.ts';
import { openStage, record } from './recorder.ts';

const [folder = '.', version = 'unnamed'] = process.argv.slice(2);
const teardowns: (() => unknown)[] = [];
const t = {
  teardown: (work: () => unknown) => teardowns.unshift(work),
} as unknown as ExecutionContext;

const stage = await openStage(t);
const keep = async (kind: string, workflowId: string, minEvents?: number): Promise<void> =>
  record(folder, `${kind}-${version}`, await stage.handleOf(workflowId, minEvents));
await recordPosts(stage, keep);
await recordDeliveries(stage, keep);
await recordContinued();
for (const teardown of teardowns) {
  await teardown();
}

process.exit(0);

/** A post that was rescheduled often enough to sleep in a second history. */
async function recordContinued(): Promise<void> {
  const other = await openStage(
    t,
    await ownTemporal(t, ['limit.historyCount.suggestContinueAsNew=20']),
  );
  const post = await other.schedule(60);
  const handle = await other.handleOf(`post-${post}`, 5);
  const { runId } = await handle.describe();
  for (let move = 1; move <= 10 && (await handle.describe()).runId === runId; move += 1) {
    await other.client.patch(`/posts/${post}`, { schedule_in_minutes: 60 + move });
    await other.handleOf(`post-${post}`, 5);
  }

  await record(folder, `continued-post-${version}`, await other.handleOf(`post-${post}`, 5));
}
