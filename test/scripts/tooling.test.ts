import test from 'ava';
import { spawn } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { beforeTests } from '../support/before-tests.ts';
import { groupFiles } from '../support/group-files.ts';
import { selectFiles } from '../support/quick-files.ts';
import { tallyCounter, tallyLine } from '../support/tally.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const oxlint = path.join(
  path.dirname(createRequire(import.meta.url).resolve('oxlint/package.json')),
  'bin',
  'oxlint',
);

/** A file in each part of the product that may not make its own requests. */
const places = [
  'domain/waits.ts',
  'runtime/send-webhook.ts',
  'runtime/storage/s3-storage.ts',
  'networks/http.ts',
  'networks/mastodon/client.ts',
  'db/orm.ts',
  'services/posts/retry-post.ts',
  'temporal/connect.ts',
  'workflows/publish-post.ts',
  'activities/attempt-delivery/attempt-delivery.ts',
  'api/webhooks/routes.ts',
  'worker/relay.ts',
  'cli/admin/main.ts',
  'cli/admin/replay-workflow.ts',
  'cli/admin/posts/lifecycle.ts',
  'sandbox/mastodon/routes.ts',
  'scripts/start/prepare-database.ts',
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

/** Each place with each of these lines, in separate files. */
const everywhere = (what: string, lines: readonly string[]) =>
  Object.fromEntries(
    places.flatMap((place) =>
      lines.map((line, index) => [place.replace(/\.ts$/v, `-${what}-${index}.ts`), `${line}\n`]),
    ),
  );

const importing: Readonly<Record<string, string>> = everywhere('imports', imports);
const asking: Readonly<Record<string, string>> = everywhere('asks', globals);
const namedByItself = {
  'cli/admin/replay-workflow.ts': [
    imports[0],
    imports[1],
    `import { request as requestSecurely } from 'https';`,
  ].join('\n'),
};
const ofDomain = {
  'domain/takes-types.ts': `import type { Static } from 'typebox';\nexport type Text = Static<{ type: 'string' }>;\n`,
  'domain/takes-builders.ts': `export { Type } from 'typebox';\n`,
  'domain/takes-more.ts': `export type { TSchema } from 'typebox/type';\n`,
};
const ofServices = {
  'services/keys/writes-sql.ts': `export { sql } from 'kysely';\n`,
  'services/keys/runs-sql.ts': `export { query } from '../../db/query.ts';\n`,
  'services/keys/loads.ts': `export { findGrant } from '../../db/repositories/channels.ts';\n`,
};
const allowed = {
  'runtime/egress/create-egress.ts': `export { Agent } from 'undici';\nexport { connect } from 'node:net';\n`,
  'sandbox/server.ts': `export { createServer } from 'node:http';\nexport type { AddressInfo } from 'node:net';\n`,
  'scripts/ports.ts': `export { createServer } from 'node:net';\n`,
  'scripts/parts/part.ts': `export { get } from 'node:http';\n`,
  'scripts/programs/download.ts': `export { fetch } from 'undici';\n`,
};

/** Lints all of these at once in a separate folder with the project's settings. */
const diagnostics = beforeTests(test, async (scope) => {
  const folder = await temporaryFolder(scope);
  await cp(path.join(root, '.oxlintrc.json'), path.join(folder, '.oxlintrc.json'));
  const files = {
    ...importing,
    ...asking,
    ...namedByItself,
    ...ofDomain,
    ...ofServices,
    ...allowed,
  };
  for (const [file, source] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, file)), { recursive: true });
    await writeFile(path.join(folder, file), source);
  }
  const linting = spawn(process.execPath, [oxlint, '--format', 'json', '.'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return (JSON.parse(await text(linting.stdout)) as { diagnostics: Diagnostic[] }).diagnostics;
});

type Diagnostic = { readonly code: string; readonly filename: string };

/** The restrictions that each of these files breaks. */
const broken = (files: Readonly<Record<string, string>>): Record<string, string[]> =>
  Object.fromEntries(
    Object.keys(files).map((file) => [
      file,
      diagnostics()
        .filter(({ filename }) => path.normalize(filename) === path.normalize(file))
        .flatMap(({ code }) => /no-restricted-[a-z]+/v.exec(code)?.[0] ?? []),
    ]),
  );

test('outside runtime/egress no part of the product may import a module that makes requests', (t) => {
  const found = Object.entries(broken(importing));
  for (const [file, rules] of found) {
    // The linter reports domain/ twice, because it may not import anything.
    t.deepEqual([...new Set(rules)], ['no-restricted-imports'], file);
  }
  t.is(found.length, places.length * imports.length);
});

test("the product outside runtime/egress, and the file that the settings name individually, may not use the platform's globals for requests", (t) => {
  for (const [file, rules] of Object.entries(broken(asking))) {
    t.is(rules.length, 1, file);
  }

  const rule = 'no-restricted-imports';
  t.deepEqual(broken(namedByItself), { 'cli/admin/replay-workflow.ts': [rule, rule, rule] });
});

test('domain/ may import types of TypeBox, but nothing that exists at run time', (t) => {
  t.deepEqual(broken(ofDomain), {
    'domain/takes-types.ts': [],
    'domain/takes-builders.ts': ['no-restricted-imports'],
    'domain/takes-more.ts': ['no-restricted-imports'],
  });
});

test('services/ contain no SQL', (t) => {
  t.deepEqual(broken(ofServices), {
    'services/keys/writes-sql.ts': ['no-restricted-imports'],
    'services/keys/runs-sql.ts': ['no-restricted-imports'],
    'services/keys/loads.ts': [],
  });
});

test('runtime/egress may make requests, the sandbox and the scripts may listen, the wait for a start may send requests, and pinned programs may be downloaded', (t) => {
  t.deepEqual(Object.values(broken(allowed)), [[], [], [], [], []]);
});

test('the product does not import such a module in a way that the linter does not see', (t) => {
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

const output = [
  '',
  '  ✔ api › posts › a post is stored (1.2s)',
  '    ℹ ✔ a note of that test',
  '  \u001B[31m✘\u001B[39m [fail]: api › posts › a post is read',
  '  - [skip] networks › a post is live [no pds: not built]',
  '  - [todo] networks › a video is live',
  '  ✘ test/worker.test.ts exited due to SIGKILL',
  'said by a process, not by ava: ✔ fine',
  '  ─',
].join('\n');

function tallyOf(printed: string, exitCode: number, skipsFail = false): string {
  const counter = tallyCounter();
  for (const piece of printed.match(/[\s\S]{1,7}/gv) ?? []) {
    counter.add(piece);
  }
  return tallyLine(counter.result(exitCode, skipsFail));
}

test('tests are counted as ava shows them; a skip may count as failed, and a run that did not finish does', (t) => {
  t.is(tallyOf(output, 1), '1 passed, 2 failed, 2 skipped');
  t.is(tallyOf('  ✔ one\n  - [skip] two\n', 0, true), '1 passed, 1 failed');
  t.is(tallyOf('  ✔ one\n', 1), '1 passed, 1 failed');
});

test('a run of all tests has each test file once, and those with hooks have a process of their own', async (t) => {
  const folder = await temporaryFolder(t);
  const selected = [...selectFiles('quick'), ...selectFiles('rest')];
  const processes = groupFiles(folder, selected).map((file) => {
    const entry = path.resolve(root, file);
    const lines = [...readFileSync(entry, 'utf8').matchAll(/^import '(?<file>.*)';$/gmv)];
    return path.dirname(entry) === folder
      ? lines.map(({ groups }) => path.resolve(folder, groups?.['file'] ?? ''))
      : [entry];
  });

  const all = globSync('test/**/*.test.ts', { cwd: root }).map((file) => path.join(root, file));
  t.deepEqual(processes.flat().toSorted(), all.toSorted());
  t.true(processes.length < all.length / 2);
  const hooks = path.join(root, 'test', 'activities', 'sweep-purge.test.ts');
  t.true(processes.some((files) => files.length === 1 && files[0] === hooks));
});
