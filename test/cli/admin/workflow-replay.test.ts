import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Runtime } from '@temporalio/worker';
import type { Answer } from '../../../cli/command.ts';
import { fetchHistory, replayWorkflow } from '../../../cli/admin/replay-workflow.ts';
import { connectTemporal } from '../../../temporal/connect.ts';
import { newClient } from '../../support/client.ts';
import { fakeNetwork } from '../../support/networks.ts';
import { needs } from '../../support/needs.ts';
import { startPunctual } from '../../support/punctual.ts';
import { addFakeChannel } from '../../support/seed.ts';
import { freshNamespace } from '../../support/temporal.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { untilAsleep } from '../../support/waits.ts';
import { runAdmin } from './admin.ts';

// In series: a process has one Temporal runtime, and the command installs its own. Tests that replay in this process
// run first, before a worker installs another one.
const test = needs('temporal').serial;
const histories = new URL('../../histories/', import.meta.url);
const stored = (name: string): string => fileURLToPath(new URL(`${name}-v1.json`, histories));

const asProcess = (source: string, settings: Record<string, string>, ...more: string[]) =>
  runAdmin(['workflow', 'replay', source, ...more], settings);

/** Runs the command in this process, without Temporal's logs. @throws the command's errors. */
async function replay(source: string): Promise<Answer> {
  try {
    return await replayWorkflow(source);
  } finally {
    await Runtime.instance().shutdown();
  }
}

test('an exported history is replayed without a database or Temporal', async (t) => {
  const { code, stdout, stderr } = await asProcess(stored('published-post'), {});
  t.deepEqual([code, stderr], [0, '']);
  t.regex(stdout, /^It replays: all 22 events of post-[0-9a-f\-]+ \(publishPost\) match/v);

  const { data } = await replay(stored('waiting-delivery'));
  t.like(data, { workflow_type: 'deliverWebhook', events: 5, replays: true });

  const { events } = JSON.parse(await readFile(stored('published-post'), 'utf8'));
  const begun = path.join(await temporaryFolder(t), 'begun.json');
  await writeFile(begun, JSON.stringify(events.slice(0, 3)));
  t.regex((await asProcess(begun, {})).stdout, /^It replays: all 3 events/v);
});

test('a history with an unknown event is refused, and so is a missing argument', async (t) => {
  const history = JSON.parse(await readFile(stored('published-post'), 'utf8'));
  history.events[5].eventType = 'EVENT_TYPE_OF_A_LATER_TEMPORAL';
  const file = path.join(await temporaryFolder(t), 'history.json');
  await writeFile(file, JSON.stringify(history));

  const { code, stderr } = await asProcess(file, {});
  t.is(code, 1);
  t.regex(stderr, /lacks event 6, or its type is unknown to this SDK/v);
  const none = await asProcess(' ', {});
  t.deepEqual([none.code, none.stdout], [2, '']);
  t.regex(none.stderr, /A workflow id or a file .* is missing/v);
});

test('a changed history does not replay, and Temporal says why', async (t) => {
  const history = JSON.parse(await readFile(stored('published-post'), 'utf8'));
  const first = history.events.find(
    (event: { eventType: string }) => event.eventType === 'EVENT_TYPE_ACTIVITY_TASK_SCHEDULED',
  );
  first.activityTaskScheduledEventAttributes.activityType.name = 'publishChannelOld';
  const file = path.join(await temporaryFolder(t), 'history.json');
  // The Web UI also wrote histories as a bare list.
  await writeFile(file, JSON.stringify(history.events));

  const { data, failed } = await replay(file);
  t.true(failed); // Exit code 1.
  t.regex((data as { divergence: string }).divergence, /\[TMPRL1100\].*'publishChannelOld'/v);
});

test('an invalid or missing history is refused with a reason', async (t) => {
  const folder = await temporaryFolder(t);
  const file = async (name: string, text: string): Promise<string> => {
    await writeFile(path.join(folder, name), text);
    return path.join(folder, name);
  };
  const history = await readFile(stored('published-post'), 'utf8');
  const { events } = JSON.parse(history);
  const files: [string, RegExp][] = [
    [path.join(folder, 'missing.json'), /holds no history: ENOENT/v],
    [await file('text.json', 'Dear diary'), /holds no history: .*JSON/v],
    [await file('other.json', '{"name": "package"}'), /holds no history/v],
    [await file('gap.json', JSON.stringify(events.toSpliced(7, 1))), /lacks event 8/v],
  ];
  for (const [source, message] of files) {
    await t.throwsAsync(replay(source), { name: 'AppError', message }, source);
  }

  const settings = await freshNamespace();
  const lost = { ...settings, TEMPORAL_NAMESPACE: 'nowhere' };
  const servers: [Record<string, string>, RegExp][] = [
    [settings, /no workflow "post-1".*workflow not found/v],
    [lost, /"nowhere".*Namespace nowhere is not found/v],
  ];
  for (const [env, message] of servers) {
    const temporal = connectTemporal(env);
    t.teardown(() => temporal.close());
    await t.throwsAsync(fetchHistory(temporal, 'post-1'), { name: 'AppError', message });
  }

  // As a process: an AppError has no stack, and the exit code is 1 despite the open connection attempt.
  const away = { ...settings, TEMPORAL_ADDRESS: '127.0.0.1:9' };
  const runs = [
    [await asProcess(path.join(folder, 'text.json'), {}), /holds no history/v],
    [await asProcess('post-1', away), /cannot be reached at 127\.0\.0\.1:9: /v],
    [await asProcess('post-1', { ...settings, TEMPORAL_TLS: 'true' }), /does not speak TLS/v],
  ] as const;
  for (const [{ code, stdout, stderr }, message] of runs) {
    t.deepEqual([code, stdout], [1, '']);
    t.regex(stderr, message);
    t.notRegex(stderr, /^ {4}at /mv);
  }
});

test('a sleeping post is fetched from Temporal and replays', async (t) => {
  const punctual = await startPunctual(t, { networks: { fake: fakeNetwork() } });
  const client = await newClient(punctual);
  const channel = await addFakeChannel(punctual.deps, client.workspaceId);
  const { body } = await client.post('/posts', {
    body: 'Asleep',
    channel_ids: [channel],
    schedule_in_minutes: 60,
  });
  const id = `post-${body.post.id}`;
  const { events } = await untilAsleep(punctual.temporal.client.workflow.getHandle(id));

  const { code, stdout } = await asProcess(id, punctual.temporalEnv, '--json');
  t.is(code, 0);
  const known = { workflow_id: id, events: events?.length };
  t.like(JSON.parse(stdout), { ...known, replays: true, divergence: null });
});
