import { readFileSync } from 'node:fs';
import type { Client, WorkflowHandle } from '@temporalio/client';
import ava, { type ExecutionContext } from 'ava';
import type { Swept } from '../../activities/sweep/sweep.ts';
import { NetworkError } from '../../networks/network.ts';
import { isTemporalUnavailable } from '../../temporal/connect.ts';
import { ensureSearchAttributes } from '../../temporal/ensure-search-attributes.ts';
import { ensureSchedule, keepScheduled, sweepSchedule } from '../../worker/schedules.ts';
import { postsQueue, postWorkflowId, sweepScheduleId } from '../../workflows/messages.ts';
import { searchAttributeKeys } from '../../workflows/search-attributes.ts';
import { status } from '../support/answers.ts';
import { newClient } from '../support/client.ts';
import { endOf } from '../support/end-of.ts';
import { beforeTests } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork, fakeNetworks } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startApi, startPunctual, type Punctual } from '../support/punctual.ts';
import { fakeChannel } from '../support/seed.ts';
import { targetOf, tcpGate } from '../support/tcp-gate.ts';
import { freshNamespace, temporalClient, testLog } from '../support/temporal.ts';
import { untilBegun } from '../support/until-begun.ts';
import { sharedWebhooks } from '../support/webhooks.ts';
import { spawnWorker, type WorkerProcess } from '../support/worker-process.ts';

const test = needs('temporal');

/** A service whose Temporal has no search attributes. */
const unsearchable = sharedWebhooks(test, { workers: true });

/** A Temporal without workers. A schedule that a test leaves there would fire each minute. */
const temporal = beforeTests(test, async (scope) => temporalClient(scope, await freshNamespace()));

const scheduleOf = (client: Client) => client.schedule.getHandle(sweepScheduleId);

/** Schedules the sweep. One call is enough, unless Temporal does not respond in time on a busy machine. */
const ensured = (client: Client): Promise<boolean> =>
  poll(() => ensureSchedule(client, sweepSchedule, 'ours').then(() => true, unlessAway), Boolean);

function unlessAway(error: unknown): false {
  if (isTemporalUnavailable(error)) {
    return false;
  }

  throw error; // An error because another worker was faster must not surface here.
}

const removeAtTheEnd = (t: ExecutionContext, client: Client): void =>
  t.teardown(() =>
    scheduleOf(client)
      .delete()
      .catch(() => undefined),
  );

test.serial(
  'ten workers that start at once create one schedule, which sweeps each minute without overlap',
  async (t) => {
    const { client } = temporal();
    removeAtTheEnd(t, client);

    await Promise.all(Array.from({ length: 10 }, () => ensured(client)));

    const { spec, action, policies, state, info } = await scheduleOf(client).describe();
    t.deepEqual(spec.intervals, [{ every: 60_000, offset: 40_000 }]);
    t.like(action, { workflowType: 'sweepPosts', taskQueue: postsQueue });
    t.is(policies.overlap, 'SKIP');
    t.is(policies.catchupWindow, 60_000);
    t.false(state.paused);
    t.is(info.lastUpdatedAt, undefined);
  },
);

test.serial(
  'a schedule of another version is updated to this version’s, and stays paused',
  async (t) => {
    const { client } = temporal();
    removeAtTheEnd(t, client);
    await ensured(client);
    await scheduleOf(client).pause('while we look into it');
    await scheduleOf(client).update((was) => ({
      ...was,
      spec: { intervals: [{ every: '1 hour' }] },
      action: { ...was.action, memo: { installation: 'ours', definition: 'another' } },
    }));

    await ensured(client);

    const { spec, state } = await scheduleOf(client).describe();
    t.deepEqual(spec.intervals, [{ every: 60_000, offset: 40_000 }]);
    t.like(state, { paused: true, note: 'while we look into it' });
  },
);

test.serial('a schedule that Temporal lost is created again', async (t) => {
  const { client } = temporal();
  removeAtTheEnd(t, client);
  t.teardown(keepScheduled(client, 'ours', testLog, [], 200));
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

test('the schedule starts a sweep, which repairs a lost post and returns its counts', async (t) => {
  // A separate service, because a sweep counts the rows of all workspaces.
  const punctual = await startPunctual(t, { networks: fakeNetworks });
  const { client: its } = punctual.temporal;
  removeAtTheEnd(t, its);
  const client = await newClient(punctual);
  const network = fakeNetwork();
  const channel = await fakeChannel(punctual, client.workspaceId, network);
  const asked = { body: 'Hello', channel_ids: [channel], schedule_in_minutes: 8 };
  const { id } = (await client.post('/posts', asked)).body.post;
  const workflow = its.workflow.getHandle(postWorkflowId(id));
  await (await untilBegun(workflow, 5)).terminate('lost');
  await ensured(its);

  const repaired = { looked: 1, unanswered: 0, workflowGone: 1, overdue: 0, deliveriesGone: 0 };
  const others = { channelsAtRisk: 0, channelsLost: 0, forgotten: 0 };
  t.deepEqual(await answeredSweep(punctual), { ...repaired, ...others });
  const isRunning = async () => (await workflow.describe()).status.name === 'RUNNING';
  await poll(isRunning, Boolean);
  await client.patch(`/posts/${id}`, { schedule_in_minutes: 0 });
  t.is((await client.finalPost(id)).status, 'published');
  t.is(network.live.length, 1);
});

/** Triggers the schedule until a sweep gets Temporal's answers in time. @returns that sweep's counts. */
async function answeredSweep({ temporal: { client } }: Punctual): Promise<Swept> {
  for (let earlier = 0; ; earlier += 1) {
    await scheduleOf(client).trigger();
    const { info } = await poll(
      () => scheduleOf(client).describe(),
      (schedule) => schedule.info.recentActions.length > earlier,
    );
    const { workflowId = '', firstExecutionRunId } =
      info.recentActions[earlier]?.action.workflow ?? {};
    const swept: Swept = await client.workflow.getHandle(workflowId, firstExecutionRunId).result();
    if (swept.unanswered === 0) {
      return swept;
    }
  }
}

/** Starts a worker whose Temporal becomes unavailable after the connect. @returns it once it waits for Temporal. */
async function startCutOff(t: ExecutionContext, punctual: Punctual): Promise<WorkerProcess> {
  const gate = await tcpGate(t, targetOf(punctual.temporalEnv['TEMPORAL_ADDRESS'] ?? ''));
  const temporalEnv = { ...punctual.temporalEnv, TEMPORAL_ADDRESS: gate.address };
  const worker = spawnWorker(t, { ...punctual, temporalEnv }, []);
  // It has connected, and bundles its workflows before it creates the workers.
  await poll(
    async () => gate.passing(),
    (passing) => passing > 1,
  );
  await gate.close();
  const waits = await Promise.race([
    worker.logged('waiting for Temporal').then(() => true),
    worker.logged('polling').then(() => false),
    worker.logged('waiting for Temporal and the database').then(() => false),
  ]);
  await gate.open();
  // If the worker was faster than this test, or had not connected yet, starts another one.
  return waits ? worker : startCutOff(t, punctual);
}

test('workers whose Temporal becomes unavailable during their start all work once it returns', async (t) => {
  const punctual = await startApi(t, { networks: fakeNetworks });
  // Chance decides which queue's worker is affected, so three workers start.
  const workers = await Promise.all([1, 2, 3].map(() => startCutOff(t, punctual)));
  await t.notThrowsAsync(Promise.all(workers.map(({ logged }) => logged('polling'))));
});

const refusal = (): NetworkError => new NetworkError('content_refused', 'No.', { accepted: 'no' });

test('without search attributes posts fail and succeed as usual, and their webhooks are delivered', async (t) => {
  const { punctual } = unsearchable;
  const client = await unsearchable.newClient();
  const receiver = unsearchable.receiver(status(204));
  await client.post('/webhooks', { url: receiver.url, events: ['post.published', 'post.failed'] });
  const network = fakeNetwork();
  const channel = await fakeChannel(punctual, client.workspaceId, network);
  const content = { body: 'Hello', channel_ids: [channel], schedule_in_minutes: 0 };
  network.fates.push({ kind: 'fails', error: refusal() });
  for (const outcome of ['failed', 'published'] as const) {
    const { id } = (await client.post('/posts', content)).body.post;
    t.is((await client.finalPost(id)).status, outcome);
    const handle = punctual.temporal.client.workflow.getHandle(postWorkflowId(id));
    t.true([outcome, `post_${outcome}`].includes(String(await endOf(handle))));
    t.deepEqual(await ours(handle), []);
  }

  await receiver.nth(2);
  t.is(network.live.length, 1);
});

/** @returns which of our attributes a workflow has; Temporal adds others. */
async function ours(handle: WorkflowHandle): Promise<string[]> {
  const { typedSearchAttributes } = await handle.describe();
  return searchAttributeKeys.flatMap((key) =>
    typedSearchAttributes.get<'KEYWORD' | 'KEYWORD_LIST' | 'DATETIME'>(key) === undefined
      ? []
      : [key.name],
  );
}

test.serial('two workers that start at once both succeed in adding the attributes', async (t) => {
  const errors: string[] = [];
  const log = testLog.child({});
  log.warn = (what: object) => void errors.push(JSON.stringify(what));
  await poll(
    () => Promise.all([1, 2].map(() => ensureSearchAttributes(temporal(), log))),
    (both) => both.every(Boolean), // Temporal may not respond in time.
  );
  t.deepEqual(
    errors.filter((error) => !error.includes('DEADLINE_EXCEEDED')),
    [],
  );
  t.true(await poll(() => ensureSearchAttributes(temporal(), log), Boolean));
});

for (const file of ['scripts/parts/temporal.ts', 'temporal-docker-compose.yml']) {
  ava(`the Temporal of ${file} has each attribute from its start`, (t) => {
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
    const found = [...text.matchAll(/\b(?<name>[A-Z]\w+)=(?<type>Keyword(?:List)?|Datetime)\b/gv)];
    const types = { KEYWORD: 'Keyword', KEYWORD_LIST: 'KeywordList', DATETIME: 'Datetime' };
    t.deepEqual(
      found.map(({ groups }) => [groups?.['name'], groups?.['type']]),
      searchAttributeKeys.map(({ name, type }) => [name, types[type]]),
    );
  });
}
