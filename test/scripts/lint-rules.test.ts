import { spawn } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const oxlint = path.join(
  path.dirname(createRequire(import.meta.url).resolve('oxlint/package.json')),
  'bin',
  'oxlint',
);

/** Lints these files in a folder of their own, by the project's settings. Which restrictions each of them breaks. */
async function broken(t: ExecutionContext, files: Readonly<Record<string, string>>) {
  const folder = await temporaryFolder(t);
  await cp(path.join(root, '.oxlintrc.json'), path.join(folder, '.oxlintrc.json'));
  for (const [file, source] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, file)), { recursive: true });
    await writeFile(path.join(folder, file), source);
  }
  const linting = spawn(process.execPath, [oxlint, '--format', 'json', '.'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 60_000,
  });
  const { diagnostics } = JSON.parse(await text(linting.stdout)) as {
    diagnostics: { code: string; filename: string }[];
  };
  return Object.fromEntries(
    Object.keys(files).map((file) => [
      file,
      diagnostics
        .filter(({ filename }) => path.normalize(filename) === path.normalize(file))
        .flatMap(({ code }) => /no-restricted-[a-z]+/v.exec(code)?.[0] ?? []),
    ]),
  );
}

/** A file in each part of the product that may not make requests of its own. */
const places = [
  'domain/waits.ts',
  'runtime/webhook-request.ts',
  'runtime/storage/s3-storage.ts',
  'networks/ask.ts',
  'networks/mastodon/client.ts',
  'db/orm.ts',
  'temporal/connect.ts',
  'workflows/publish-post.ts',
  'activities/attempt-delivery/attempt-delivery.ts',
  'api/webhooks/test-endpoint.ts',
  'worker/relay.ts',
  'cli/main.ts',
  'cli/replay-workflow.ts',
  'cli/posts/retry-post.ts',
  'sandbox/mastodon/routes.ts',
  'scripts/demo.ts',
];

const imports = [
  `import { request } from 'undici';`,
  `import { get } from 'node:http';`,
  `import { request } from 'https';`,
  `import http from 'node:http';`,
  `import { connect } from 'node:net';`,
  `import { connect } from 'node:tls';`,
  `import { connect } from 'node:http2';`,
  `import { lookup } from 'node:dns/promises';`,
  `export { createSocket } from 'node:dgram';`,
];

const globals = [
  `export const found = await fetch('https://example.com/');`,
  `export const found = await globalThis.fetch('https://example.com/');`,
  `export const socket = new WebSocket('wss://example.com/');`,
];

/** Every place with every one of these lines, each in a file of its own. */
const everywhere = (lines: readonly string[], at: readonly string[]) =>
  Object.fromEntries(
    at.flatMap((place) =>
      lines.map((line, index) => [place.replace(/\.ts$/v, `-${index}.ts`), `${line}\n`] as const),
    ),
  );

test('outside runtime/egress no part of the product may import what makes requests', async (t) => {
  const found = await broken(t, everywhere(imports, places));

  for (const [file, rules] of Object.entries(found)) {
    // Of domain/, which may import nothing at all, the linter complains twice.
    t.deepEqual([...new Set(rules)], ['no-restricted-imports'], file);
  }
  t.is(Object.keys(found).length, places.length * imports.length);
});

test('nor may it use what the platform brings for that', async (t) => {
  const found = await broken(t, everywhere(globals, places));

  for (const [file, rules] of Object.entries(found)) {
    t.is(rules.length, 1, file);
  }
});

test('the file that the settings name by itself may not either', async (t) => {
  for (const line of imports.slice(0, 3)) {
    const found = await broken(t, { 'cli/replay-workflow.ts': line });
    t.deepEqual(found, { 'cli/replay-workflow.ts': ['no-restricted-imports'] });
  }
});

test('runtime/egress may, the sandbox and the scripts may listen, and the waiting for a start may ask', async (t) => {
  const found = await broken(t, {
    'runtime/egress/create-agent.ts': `export { Agent } from 'undici';\nexport { connect } from 'node:net';\n`,
    'sandbox/server.ts': `export { createServer } from 'node:http';\nexport type { AddressInfo } from 'node:net';\n`,
    'scripts/ports.ts': `export { createServer } from 'node:net';\n`,
    'scripts/parts/part.ts': globals[0] ?? '',
  });

  t.deepEqual(Object.values(found), [[], [], [], []]);
});

test('the product has no such module by another way that the linter does not see', (t) => {
  const folders = [...new Set(places.map((place) => place.split('/')[0]))];
  const files = folders.flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: root }));
  const byCall =
    /\b(?:import|require|getBuiltinModule)\(\s*['"`](?:undici|(?:node:)?(?:https?|http2|net|tls|dgram|dns))\b/v;

  t.true(files.length > 300, `${files.length} files`);
  t.true(byCall.test(`await import('node:net')`));
  t.deepEqual(
    files.filter((file) => byCall.test(readFileSync(path.join(root, file), 'utf8'))),
    [],
  );
});
