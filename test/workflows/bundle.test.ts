import { readFile } from 'node:fs/promises';
import test from 'ava';
import { sharedBundle } from '../support/temporal.ts';

// The bundler refuses `node:` modules but takes an ORM without a word, so the list is checked by hand.
test('the workflow bundle holds only workflows and domain of ours, and no package but Temporal', async (t) => {
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

// They are evaluated once for all workflows of a worker: what one wrote, another would read.
test('no module of the workflow bundle keeps anything that changes', async (t) => {
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

/** What Temporal's own workflow runtime consists of. */
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
