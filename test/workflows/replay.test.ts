import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker';
import test from 'ava';
import { installRuntime, sharedBundle } from '../support/temporal.ts';

const folder = new URL('../histories/', import.meta.url);
const histories = readdirSync(folder).filter((name) => name.endsWith('.json'));
const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8');

for (const name of histories) {
  test(`a workflow that began under an earlier version goes on under this one: ${name}`, async (t) => {
    installRuntime();
    const workflowBundle = await sharedBundle();
    await t.notThrowsAsync(Worker.runReplayHistory({ workflowBundle }, JSON.parse(read(name))));
  });

  test(`no text of a post is in Temporal: ${name}`, (t) => {
    const history = read(name);
    const payloads = [...history.matchAll(/"data": ?"(?<data>[^"]+)"/gv)].map((match) =>
      Buffer.from(match[1] ?? '', 'base64').toString('utf8'),
    );
    t.true(payloads.length > 0);
    t.false([history, ...payloads].some((payload) => payload.includes('must not be in any')));
  });
}

test('there is a stored history of each kind', (t) => {
  const kinds = [
    'sleeping-post',
    'rescheduled-post',
    'continued-post',
    'cancelled-post',
    'stopped-in-ui-post',
    'gone-post',
    'moved-unheard-post',
    'published-post',
    'published-post-with-webhook',
    'five-channels-post',
    'failed-post',
    'retried-post',
    'cancelled-midway-post',
    'scheduled-anew-midway-post',
    'waiting-delivery',
    'delivered-webhook',
    'failed-delivery',
    'replayed-delivery',
  ];
  t.deepEqual(
    kinds.filter((kind) => !histories.some((name) => isOf(kind, name))),
    [],
  );
});

/** A name ends with the version that recorded it; the first version's do not. */
const isOf = (kind: string, name: string): boolean =>
  name === `${kind}.json` || name.replace(/-[^\-]+\.json$/v, '') === kind;

test('one more command before the first timer would be noticed', async (t) => {
  installRuntime();
  const workflowsPath = fileURLToPath(new URL('changed-prologue/index.ts', folder));
  const logger = new DefaultLogger('ERROR');
  const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger });
  const history = JSON.parse(read('sleeping-post.json'));
  await t.throwsAsync(Worker.runReplayHistory({ workflowBundle }, history), {
    name: 'DeterminismViolationError',
  });
});
