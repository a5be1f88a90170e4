import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, Worker, type ReplayResult } from '@temporalio/worker';
import test from 'ava';
import { beforeTests } from '../support/before-tests.ts';
import { installRuntime, sharedBundle } from '../support/temporal.ts';

const folder = new URL('../histories/', import.meta.url);
const histories = readdirSync(folder).filter((name) => name.endsWith('.json'));
const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8');

/** The replay result of each history. One worker replays them all, one after the other. */
const replayed = beforeTests(test, async () => {
  await installRuntime();
  const workflowBundle = await sharedBundle();
  const all = histories.map((name) => ({ workflowId: name, history: JSON.parse(read(name)) }));
  const results = new Map<string, ReplayResult>();
  for await (const result of Worker.runReplayHistories({ workflowBundle }, all)) {
    results.set(result.workflowId, result);
  }

  return results;
});

for (const name of histories) {
  test(`a workflow of an earlier version continues under this one: ${name}`, (t) => {
    const result = replayed().get(name);
    t.truthy(result);
    t.is(result?.error, undefined);
  });

  test(`no post text is in Temporal: ${name}`, (t) => {
    const history = read(name);
    const payloads = [...history.matchAll(/"data": ?"(?<data>[^"]+)"/gv)].map((match) =>
      Buffer.from(match[1] ?? '', 'base64').toString('utf8'),
    );
    t.true(payloads.length > 0);
    t.false([history, ...payloads].some((payload) => payload.includes('must not be in any')));
  });
}

test('an added command before the first timer fails the replay', async (t) => {
  await installRuntime();
  const workflowsPath = fileURLToPath(new URL('changed-prologue/index.ts', folder));
  const logger = new DefaultLogger('ERROR');
  const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger });
  const history = JSON.parse(read('sleeping-post-v1.json'));
  await t.throwsAsync(Worker.runReplayHistory({ workflowBundle }, history), {
    name: 'DeterminismViolationError',
  });
});

// The bundler rejects `node:` modules but accepts an ORM, so the test checks the list of files.
test('the workflow bundle contains only our workflows and domain, and no package but Temporal', async (t) => {
  const { code } = await sharedBundle();
  const files = new Set(
    [...code.matchAll(/"\.\/(?<file>[^"\n]+\.(?:ts|js|mjs|cjs))"/gv)].map((m) => m[1] ?? ''),
  );
  const packages = new Set(
    [...files].flatMap((file) => /node_modules\/((?:@[^\/]+\/)?[^\/]+)/v.exec(file)?.[1] ?? []),
  );
  const own = [...files].filter((file) => !file.includes('node_modules/'));

  t.true(own.includes('workflows/publish-post.ts'));
  t.deepEqual(
    own.filter((file) => !/^(?:workflows|domain)\//v.test(file)),
    [],
  );
  t.deepEqual(
    [...packages].filter((name) => !allowed.has(name)),
    [],
  );
});

// All workflows of a worker share one evaluation of each module, so they would share its state.
test('no module of the workflow bundle has mutable state', async (t) => {
  const { code } = await sharedBundle();
  const files = [...code.matchAll(/"\.\/(?<file>(?:workflows|domain)\/[^"\n]+\.ts)"/gv)];
  const names = new Set(files.map((match) => match[1] ?? ''));
  t.true(names.size > 10, [...names].join());
  for (const name of names) {
    const source = await readFile(new URL(`../../${name}`, import.meta.url), 'utf8');
    const kept = source.match(
      /^(?:export )?(?:(?:let|var) .*|const .*= (?:new (?:Weak)?(?:Map|Set)[^\(]*\(\)|\[\]|\{\}).*)$/gmv,
    );
    t.is(kept, null, name);
  }
});

/** The packages of Temporal's workflow runtime. */
const allowed = new Set([
  '@temporalio/workflow',
  '@temporalio/common',
  '@temporalio/proto',
  '@temporalio/worker',
  'ms',
  'long',
  'protobufjs',
  '@protobufjs/aspromise',
  'proto3-json-serializer',
  'nexus-rpc',
]);
