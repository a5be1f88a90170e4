import { setTimeout as sleep } from 'node:timers/promises';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import type { Client } from '@temporalio/client';
import type { ExecutionContext } from 'ava';
import { ensureSweepSchedule, keepSweepScheduled } from '../../worker/sweep-schedule.ts';
import { postsQueue, postWorkflowId, sweepScheduleId } from '../../workflows/messages.ts';
import { newClient } from '../support/client.ts';
import { env } from '../support/env.ts';
import { addFakeChannel } from '../support/seed.ts';
import { fakeNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startPunctual } from '../support/punctual.ts';
import { freshNamespace, installRuntime, temporalClient, testLog } from '../support/temporal.ts';
import { untilBegun } from '../support/until-begun.ts';

const test = needs('temporal');

/** A client of a Temporal without schedules. What a test leaves would fire each minute for ever. */
async function emptyTemporal(t: ExecutionContext): Promise<Client> {
  const { client } = temporalClient(t, await freshNamespace());
  removeAtTheEnd(t, client);
  return client;
}

const removeAtTheEnd = (t: ExecutionContext, client: Client): void =>
  t.teardown(() =>
    client.schedule
      .getHandle(sweepScheduleId)
      .delete()
      .catch(() => undefined),
  );

const scheduleOf = (client: Client) => client.schedule.getHandle(sweepScheduleId);

test('ten workers that start at once leave one schedule, which sweeps each minute and one at a time', async (t) => {
  const client = await emptyTemporal(t);

  await Promise.all(Array.from({ length: 10 }, () => ensureSweepSchedule(client)));

  const { spec, action, policies, state, info } = await scheduleOf(client).describe();
  t.deepEqual(spec.intervals, [{ every: 60_000, offset: 40_000 }]);
  t.like(action, { workflowType: 'sweepPosts', taskQueue: postsQueue });
  t.is(policies.overlap, 'SKIP');
  t.is(policies.catchupWindow, 60_000);
  t.false(state.paused);
  t.is(info.lastUpdatedAt, undefined);
});

test('a schedule of another version becomes this version’s, and stays paused if it is', async (t) => {
  const client = await emptyTemporal(t);
  await ensureSweepSchedule(client);
  await scheduleOf(client).pause('while we look into it');
  await scheduleOf(client).update((was) => ({
    ...was,
    spec: { intervals: [{ every: '1 hour' }] },
  }));

  await ensureSweepSchedule(client);

  const { spec, state } = await scheduleOf(client).describe();
  t.deepEqual(spec.intervals, [{ every: 60_000, offset: 40_000 }]);
  t.like(state, { paused: true, note: 'while we look into it' });
});

test('a schedule that Temporal lost is there again', async (t) => {
  const client = await emptyTemporal(t);
  t.teardown(keepSweepScheduled(client, testLog, 200));
  const untilThere = () =>
    poll(
      () =>
        scheduleOf(client)
          .describe()
          .catch(() => ({ action: undefined })),
      (schedule) => schedule.action !== undefined,
    );
  await untilThere();
  await scheduleOf(client).delete();

  t.like((await untilThere()).action, { workflowType: 'sweepPosts' });
});

test('the schedule starts a sweep, which heals what was lost and shows what it found', async (t) => {
  const network = fakeNetwork();
  const punctual = await startPunctual(t, { networks: { fake: network } });
  const { client: temporal } = punctual.temporal;
  removeAtTheEnd(t, temporal);
  const client = await newClient(punctual);
  const channel = await addFakeChannel(punctual.deps, client.workspaceId);
  const scheduled_at = new Date(Date.now() + 15_000).toISOString();
  const asked = { body: 'Hello', channel_ids: [channel], scheduled_at };
  const { id } = (await client.post('/posts', asked)).body.post;
  await (await untilBegun(temporal.workflow.getHandle(postWorkflowId(id)), 5)).terminate('lost');
  await ensureSweepSchedule(temporal);

  await scheduleOf(temporal).trigger();

  const { info } = await poll(
    () => scheduleOf(temporal).describe(),
    (schedule) => schedule.info.recentActions.length > 0,
  );
  const [begun] = info.recentActions;
  const swept = temporal.workflow.getHandle(begun?.action.workflow.workflowId ?? '');
  const counts = {
    looked: 1,
    unanswered: 0,
    workflowGone: 1,
    overdue: 0,
    deliveriesGone: 0,
    forgotten: 0,
  };
  t.deepEqual(await swept.result(), counts);
  t.is((await client.finalPost(id, 90_000)).status, 'published');
  t.is(network.live.length, 1);
});

needs('test-server')(
  'a Temporal that knows no schedules is told of it once, and nothing else happens',
  async (t) => {
    installRuntime();
    const executable = { type: 'existing-path' as const, path: env('PUNCTUAL_TEST_SERVER_PATH') };
    const environment = await TestWorkflowEnvironment.createTimeSkipping({
      server: { executable },
    });
    t.teardown(() => environment.teardown());
    const lines: string[] = [];
    const log = testLog.child({});
    log.warn = (_what: object, line?: string) => void lines.push(line ?? '');

    const stop = keepSweepScheduled(environment.client, log, 50);

    await poll(
      async () => lines.length,
      (count) => count > 0,
    );
    await sleep(500);
    await stop();
    t.deepEqual(lines, ['the sweep could not be scheduled']);
  },
);
