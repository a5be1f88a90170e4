import { copyFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ExecutionContext } from 'ava';
import { allRoutes } from '../../api/app.ts';
import { createDocument, openAnswers } from '../../api/openapi/document.ts';
import { runCommand, type CommandOptions } from '../../scripts/run-command.ts';
import type { Client } from '../support/client.ts';
import { env } from '../support/env.ts';
import { sharedApi } from '../support/kit.ts';
import { noTemporal } from '../support/media-library.ts';
import { needs } from '../support/needs.ts';
import { endedPost, storeChannel } from '../support/seed.ts';
import { openNetworks } from '../../networks/registry.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

// Generators drop parts of the document that they cannot name or read.

const test = needs('postgres', 'python-generator', 'typescript-generator');
const api = sharedApi(test, { temporalEnv: noTemporal, networks: await openNetworks({}).load() });
const programs = path.join(import.meta.dirname, '../support/api-clients');
/** Per program. Generating and checking takes a few seconds on an idle machine. */
const timeoutMs = 120_000;

test('a generated Python client reads the responses', async (t) => {
  const { client, channel, failed, folder } = await prepare(t);
  const python = env('PUNCTUAL_TEST_PYTHON_GENERATOR');
  // Without formatting, which would take most of the time.
  await writeFile(path.join(folder, 'config.yml'), 'post_hooks: []\n');
  const options = ['--config', 'config.yml', '--meta', 'none', '--output-path', 'generated'];
  const generator = ['-m', 'openapi_python_client', 'generate', '--path', 'openapi.json'];
  await run(python, [...generator, ...options, '--fail-on-warning'], { cwd: folder });
  await copyFile(path.join(programs, 'calls.py'), path.join(folder, 'calls.py'));

  await assertAnswers(t, client, { channel, failed }, (args) =>
    run(python, ['calls.py', ...args], { cwd: folder }),
  );
});

test('a client of openapi-typescript type-checks and reads the responses', (t) =>
  assertTypeScript(t, 'calls-openapi-fetch.mts', async (node) => {
    const generator = path.join(typescript(), 'openapi-typescript/bin/cli.js');
    await node([generator, 'openapi.json', '--output', 'generated.d.ts']);
  }));

test('a client of @hey-api/openapi-ts type-checks and reads the responses', (t) =>
  assertTypeScript(t, 'calls-hey-api.mts', async (node, folder) => {
    const output = { path: 'generated', module: { extension: '.ts' } };
    const config = `export default ${JSON.stringify({ input: 'openapi.json', output })};\n`;
    await writeFile(path.join(folder, 'openapi-ts.config.mjs'), config);
    await node([path.join(typescript(), '@hey-api/openapi-ts/bin/run.js'), '--no-log-file']);
  }));

type RunNode = (args: readonly string[]) => Promise<string>;

/** Generates a client, type-checks a program that uses it, and compares what the program reads. */
async function assertTypeScript(
  t: ExecutionContext,
  program: string,
  generate: (node: RunNode, folder: string) => Promise<void>,
): Promise<void> {
  const { client, channel, failed, folder } = await prepare(t);
  const node: RunNode = (args) => run(process.execPath, args, { cwd: folder });
  await symlink(typescript(), path.join(folder, 'node_modules'));
  await generate(node, folder);
  await copyFile(path.join(programs, program), path.join(folder, program));
  const strict = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024'];
  const types = ['--lib', 'es2024,dom,dom.iterable', '--types', 'node', '--typeRoots', nodeTypes];
  const check = [...strict, ...types, '--allowImportingTsExtensions', '--skipLibCheck'];
  await node([path.join(typescript(), 'typescript/bin/tsc'), ...check, program]);

  await assertAnswers(t, client, { channel, failed }, (args) => node([program, ...args]));
}

const typescript = (): string => env('PUNCTUAL_TEST_TYPESCRIPT_GENERATOR');
const nodeTypes = path.join(import.meta.dirname, '../../node_modules/@types');

needs('api-linters')('Redocly and Spectral find nothing in the document', async (t) => {
  const folder = await temporaryFolder(t);
  const document = JSON.stringify(openAnswers(createDocument(allRoutes)));
  await writeFile(path.join(folder, 'openapi.json'), document);
  await writeFile(path.join(folder, 'rules.yml'), 'extends: ["spectral:oas"]\n');
  // No id is `connect`, so `/channels/{id}/check` and `/channels/connect/{link_id}` are not ambiguous.
  const rules = 'extends: [recommended-strict]\nrules: { no-ambiguous-paths: off }\n';
  await writeFile(path.join(folder, 'redocly.yaml'), rules);
  const packages = env('PUNCTUAL_TEST_API_LINTERS');
  // Otherwise Redocly sends requests.
  const silent = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const options = { cwd: folder, env: { ...process.env, ...silent } };
  const node: RunNode = (args) => run(process.execPath, args, options);
  const redocly = path.join(packages, '@redocly/cli/bin/cli.js');
  const spectral = path.join(packages, '@stoplight/spectral-cli/dist/index.js');
  await Promise.all([
    node([redocly, 'lint', 'openapi.json', '--config', 'redocly.yaml']),
    node([spectral, 'lint', 'openapi.json', '--ruleset', 'rules.yml', '--fail-severity', 'hint']),
  ]);
  t.pass();
});

/** A workspace with a channel and a failed post, and a folder with the API's document. */
async function prepare(t: ExecutionContext) {
  const { punctual } = api;
  const client = await api.newClient();
  const channel = await storeChannel(punctual, client.workspaceId);
  const failed = await endedPost(punctual, client, new Map([[channel, 'failed']]));
  const folder = await temporaryFolder(t);
  const document = await (await fetch(`${punctual.url}/openapi.json`)).text();
  await writeFile(path.join(folder, 'openapi.json'), document);
  return { client, channel, failed, folder };
}

async function assertAnswers(
  t: ExecutionContext,
  { key }: Client,
  { channel, failed }: { readonly channel: string; readonly failed: string },
  callAll: (args: readonly string[]) => Promise<string>,
): Promise<void> {
  const said = await callAll([`${api.punctual.url}/api/v1`, key, channel, failed]);
  t.deepEqual(JSON.parse(said), {
    channels: [channel],
    upload: 'dot.png',
    created: 'scheduled',
    again: 200,
    got: { pending: 1, media: ['image/png'] },
    listed: true,
    retried: [channel],
    invalid: ['text_length'],
    refused: 'empty_body',
  });
}

/** @returns the output of the program. */
async function run(
  file: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<string> {
  const { ok, stdout, stderr } = await runCommand(file, args, { ...options, timeoutMs });
  if (!ok) {
    throw new Error(`${args.slice(0, 3).join(' ')} failed:\n${stdout}\n${stderr}`);
  }

  return stdout;
}
