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
