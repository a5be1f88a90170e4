import type { ExecutionContext } from 'ava';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { cp, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { openAnswers } from '../../api/openapi/document.ts';
import { openNetworks } from '../../networks/registry.ts';
import { freePort } from '../../scripts/ports.ts';
import { runCommand } from '../../scripts/run-command.ts';
import { connectChannel } from '../../services/channels/connect-channel.ts';
import { egressTo } from '../networks/connection.ts';
import { openSandbox } from '../sandbox/open-sandbox.ts';
import { newClient } from '../support/client.ts';
import { ourDocument, samplesIn } from '../support/contract.ts';
import { env } from '../support/env.ts';
import { beforeTests } from '../support/kit.ts';
import { picture } from '../support/media-files.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startPunctual } from '../support/punctual.ts';
import { storeChannel } from '../support/seed.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const test = needs('temporal', 'typescript-generator');
const root = path.join(import.meta.dirname, '../..');

/** Runs a program with Node. @returns its output. @throws Error with its output if it failed. */
async function node(
  args: readonly string[],
  cwd: string,
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  const options = { cwd, env: { ...process.env, ...more }, timeoutMs: 120_000 };
  const { ok, stdout, stderr } = await runCommand(process.execPath, args, options);
  if (!ok) {
    throw new Error(`${args.slice(0, 2).join(' ')} failed:\n${stdout}\n${stderr}`);
  }

  return stdout;
}

const tool = (name: string): string => path.join(env('PUNCTUAL_TEST_TYPESCRIPT_GENERATOR'), name);

async function npm(args: readonly string[], cwd: string): Promise<string> {
  const { ok, stdout, stderr } = await runCommand('npm', args, { cwd, timeoutMs: 120_000 });
  if (!ok) {
    throw new Error(`npm ${args[0]} failed:\n${stdout}\n${stderr}`);
  }

  return stdout;
}

/** A project of a user: the packed package is installed, and the examples are copied into it. */
const shared = beforeTests(test, async (scope) => {
  const folder = await temporaryFolder(scope);
  const packed = await npm(['pack', './sdk', '--json', '--pack-destination', folder], root);
  const [{ filename, files }] = JSON.parse(packed.slice(packed.indexOf('[\n'))) as [
    { readonly filename: string; readonly files: readonly { readonly path: string }[] },
  ];
  await cp(path.join(root, 'sdk/examples'), folder, { recursive: true });
  await writeFile(path.join(folder, 'package.json'), '{"type":"module"}');
  await npm(['install', '--offline', '--no-audit', '--no-fund', filename], folder);
  await symlink(path.join(root, 'node_modules/@types'), path.join(folder, 'node_modules/@types'));
  return { folder, tarball: path.join(folder, filename), files };
});

test('the types are those of the OpenAPI document', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(path.join(folder, 'openapi.json'), JSON.stringify(openAnswers(ourDocument())));
  const generator = tool('openapi-typescript/bin/cli.js');
  await node([generator, 'openapi.json', '--output', 'schema.ts'], folder);
  const text = await readFile(path.join(folder, 'schema.ts'), 'utf8');
  // Otherwise the known values disappear in `string`, and editors cannot suggest them.
  const types = text.replaceAll(
    /(?<known>components\["schemas"\]\["\w+"\]) \| string\b/gv,
    '$<known> | (string & {})',
  );
  const committed = path.join(root, 'sdk/src/schema.ts');
  if (process.env['UPDATE_SDK'] === 'true') {
    await writeFile(path.join(folder, 'new.ts'), types);
    await rename(path.join(folder, 'new.ts'), committed);
  }

  t.true(
    (await readFile(committed, 'utf8')) === types,
    'Run UPDATE_SDK=true npm test -- test/sdk/package.test.ts, and commit sdk/src/schema.ts.',
  );
});

/** The code of the manual, and what it does not declare. */
async function manual(): Promise<string[]> {
  const page = await readFile(path.join(root, 'docs/guides/sdk.md'), 'utf8');
  return [...page.matchAll(/^```ts\n(?<code>.*?)^```$/gmsv)].map(
    (one) => one.groups?.['code'] ?? '',
  );
}

const given = 'declare const id: string, body: string, secret: string, request: Request;';

test('the package has what it needs and nothing else, for every resolution of modules', async (t) => {
  const { folder, tarball, files } = shared();
  const source = path.join(root, 'sdk');
  const own = files.map((one) => one.path).filter((one) => !one.startsWith('dist/'));
  t.deepEqual(own.toSorted(), ['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json']);
  const attw = tool('@arethetypeswrong/cli/dist/index.js');
  await node([attw, tarball, '--profile', 'esm-only'], folder);
  await node([tool('publint/src/cli.js'), 'run', source, '--strict', '--pack', 'npm'], folder);

  const entry = path.join(source, 'dist/index.js');
  await node(
    [
      tool('esbuild/bin/esbuild'),
      entry,
      '--bundle',
      '--minify',
      '--format=esm',
      '--outfile=all.js',
    ],
    folder,
  );
  const bytes = gzipSync(await readFile(path.join(folder, 'all.js')), { level: 9 }).length;
  t.true(bytes <= 4096, `${bytes} bytes`);

  await writeFile(path.join(folder, 'manual.ts'), `${given}\n${(await manual()).join('\n')}`);
  const samples = samplesIn('TypeScript').map((sample) =>
    sample.replace(/^import .*$/mv, '{').concat('\n}\n'),
  );
  const withImport = `import { Punctual } from '@punctual/client';\n${samples.join('')}`;
  await writeFile(path.join(folder, 'samples.ts'), withImport);
  const tsc = tool('typescript/bin/tsc');
  const strict = [
    '--noEmit',
    '--strict',
    '--target',
    'es2024',
    '--lib',
    'es2024,dom,dom.iterable',
    '--types',
    'node',
  ];
  const programs = [
    'first-post',
    'thread-with-images',
    'month-from-csv',
    'retry-failed',
    'webhook-receiver',
  ];
  const examples = [...programs, 'manual', 'samples'].map((name) => `${name}.ts`);
  await node([tsc, ...strict, '--module', 'nodenext', ...examples], folder);
  const bundler = ['--module', 'esnext', '--moduleResolution', 'bundler'];
  await node([tsc, ...strict, ...bundler, ...examples], folder);
});

/** Punctual with the sandbox, and the settings of the examples for a workspace with accounts. */
const service = beforeTests(test, async (scope) => {
  const { url } = await openSandbox(scope);
  const hookPort = await freePort();
  const allowPorts = [Number(new URL(url).port), hookPort];
  const punctual = await startPunctual(scope, { allowPorts, sandboxUrl: url });
  return { url, punctual, hookPort };
});

async function newWorkspace(t: ExecutionContext) {
  const { url, punctual } = service();
  const client = await newClient(punctual);
  const { workspaceId } = client;
  await storeChannel(punctual, workspaceId, { platform: 'youtube' });
  const connector = openNetworks({}).connectors['mastodon']!;
  const account = await connector.connect(egressTo(t, url), connector.sandbox(url));
  const { orm, sealer } = punctual.deps;
  const channel = await connectChannel(orm.em.fork(), sealer, workspaceId, 'mastodon', account);
  const settings = { PUNCTUAL_URL: punctual.url, PUNCTUAL_API_KEY: client.key };
  const example = (name: string, ...args: readonly string[]): Promise<string> =>
    node([`${name}.ts`, ...args], shared().folder, settings);
  return { client, channel: channel.id, settings, example };
}

test('example: a first post', async (t) => {
  const { example } = await newWorkspace(t);
  t.regex(await example('first-post', 'Hello'), /^@\S+: published http\S+\n$/v);
});

test('the first program of the manual publishes a post', async (t) => {
  const { settings, example } = await newWorkspace(t);
  const [first = ''] = await manual();
  const program = first
    .replace('svc_live_…', settings.PUNCTUAL_API_KEY)
    .replace('http://127.0.0.1:3000', settings.PUNCTUAL_URL)
    .replace('minutes: 1', 'minutes: 0');
  await writeFile(
    path.join(shared().folder, 'first.ts'),
    `${program}console.log(ended.outcome);\n`,
  );
  t.is(await example('first'), 'published\n');
});

test('example: a thread with images', async (t) => {
  const { client, channel, example } = await newWorkspace(t);
  const folder = await temporaryFolder(t);
  const files = ['a.png', 'b.jpg'].map((name) => path.join(folder, name));
  await writeFile(files[0]!, await picture('png'));
  await writeFile(files[1]!, await picture('jpeg'));
  t.regex(await example('thread-with-images', channel, ...files), / goes out at /v);
  const { posts } = (await client.get('/posts?include=media')).body;
  t.is(posts[0].thread_media.length, 2);
});

test('example: a month of posts from a CSV file, scheduled once however often it runs', async (t) => {
  const { client, example } = await newWorkspace(t);
  const file = path.join(await temporaryFolder(t), 'posts.csv');
  const day = new Date(Date.now() + 40 * 24 * 3_600_000).toISOString().slice(0, 10);
  const csv = `id,day,time,text\r\nn1,${day},09:00,Plain\r\nn2,${day},10:30,"With ""quotes"", and\na line"\r\n`;
  await writeFile(file, csv);
  t.is(await example('month-from-csv', file, 'Asia/Tokyo'), 'n1: scheduled\nn2: scheduled\n');
  await writeFile(file, csv.replace('Plain', 'A 5" screen').concat(`n3,${day},11:00,New\r\n`));
  t.is(
    await example('month-from-csv', file, 'Asia/Tokyo'),
    'n1: up to date\nn2: up to date\nn3: scheduled\n',
  );
  await writeFile(file, csv.replaceAll(',', ';'));
  await t.throwsAsync(example('month-from-csv', file), { message: /Columns are not id,day/v });
  await writeFile(file, csv.replace('Plain', 'Hello, world'));
  await t.throwsAsync(example('month-from-csv', file), {
    message: /need quotes: n1,.+Hello, world/v,
  });
  const { posts } = (await client.get('/posts?sort=scheduled_at&order=asc')).body;
  t.deepEqual(
    posts.map((one: Record<string, string>) => [
      one['external_id'],
      one['body'],
      one['scheduled_at'],
    ]),
    [
      ['n1', 'A 5" screen', `${day}T00:00:00.000Z`],
      ['n2', 'With "quotes", and\na line', `${day}T01:30:00.000Z`],
      ['n3', 'New', `${day}T02:00:00.000Z`],
    ],
  );
});

test('examples: a receiver prints the failure of a post, and it is sent again', async (t) => {
  const { client, channel, example, settings } = await newWorkspace(t);
  const { hookPort } = service();
  const hook = { url: `http://127.0.0.1:${hookPort}/`, events: ['post.failed'] };
  const { webhook } = (await client.post('/webhooks', hook)).body;
  const receiver = spawn(process.execPath, [path.join(shared().folder, 'webhook-receiver.ts')], {
    cwd: await temporaryFolder(t),
    env: {
      ...process.env,
      ...settings,
      WEBHOOK_SECRET: webhook.secret,
      PORT: String(hookPort),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => receiver.kill());
  const printed: string[] = [];
  createInterface({ input: receiver.stdout }).on('line', (line) => printed.push(line));
  const post = { body: 'x #sandbox-refuse', channel_ids: [channel], schedule_in_minutes: 0 };
  const { id } = (await client.post('/posts', post)).body.post;
  await client.finalPost(id);
  // The receiver may have started later; then the second attempt comes in a minute.
  const [line] = await poll(
    async () => printed,
    ({ length }) => length > 0,
    150_000,
  );
  t.regex(line ?? '', /^post\.failed @\S+: /v);
  t.is(await example('retry-failed'), `${id}: failed\n`);
});
