import test from 'ava';
import { readFileSync, globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { channelErrorCodes, channelErrors } from '../../domain/channel-error.ts';
import { openNetworks } from '../../networks/registry.ts';
import { readConfig } from '../../runtime/config/read-config.ts';
import { readSettings } from '../../runtime/config/settings.ts';
import { temporalOptions } from '../../temporal/settings.ts';
import { sharedApi } from '../support/kit.ts';
import { storeChannel } from '../support/seed.ts';

const networks = await openNetworks({}).load();
const api = sharedApi(test, {
  networks,
  outside: {
    resolve: () => Promise.resolve(['93.184.216.34']),
    connectTo: () => () => {
      throw new Error('This test sends no requests.');
    },
  },
});
const guide = (name: string): string =>
  readFileSync(new URL(`../../docs/guides/${name}.md`, import.meta.url), 'utf8');
const page = ['first-post', 'times', 'threads-and-files', 'limits', 'sandbox']
  .map(guide)
  .join('\n');

test('the guide and the OpenAPI document describe each error_code in the same way', (t) => {
  const [, lists = ''] = guide('errors').split('\n## Why a channel failed\n');
  const rowsOf = (text = '') => [...text.matchAll(/^- `(?<code>\w+)`: (?<meaning>.+)$/gmv)];
  const [can, cannot] = lists.split('\n## ')[0]?.split('\nA retry cannot:\n') ?? [];
  const expected = (retryable: boolean) =>
    channelErrorCodes
      .filter((code) => channelErrors[code].retryable === retryable)
      .map((code) => [code, channelErrors[code].meaning]);
  for (const [text, retryable] of [
    [can, true],
    [cannot, false],
  ] as const) {
    t.deepEqual(
      rowsOf(text).map(({ groups = {} }) => [groups['code'], groups['meaning']]),
      expected(retryable),
    );
  }
});

/** The commands of a page that call the API, each on one line. */
const commandsOf = (text: string): string[] =>
  [...text.matchAll(/^```sh\n(?<block>.*?)^```$/gmsv)]
    .flatMap(({ groups }) => groups?.['block']?.replaceAll(/ \\\n\s*/gv, ' ').split('\n') ?? [])
    .filter((line) => /^curl .*(?:\$API|\/api\/v1)\//v.test(line));

/** The request that curl sends for a command of the pages. */
function requestOf(command: string): { readonly path: string; readonly init: RequestInit } {
  const path = /(?:\$API|\/api\/v1)(?<path>[^"\s]+)/v.exec(command)?.groups?.['path'] ?? '';
  const body = / -d '(?<body>.*)'$/v.exec(command)?.groups?.['body'];
  const fields = [...command.matchAll(/ -F (?:'(?<quoted>[^']*)'|(?<plain>\S+))/gv)].map(
    ({ groups = {} }) => (groups['quoted'] ?? groups['plain'] ?? '').split('='),
  );
  if (fields.length > 0) {
    const form = new FormData();
    for (const [name = '', value = ''] of fields) {
      form.append(name, value.startsWith('@') ? new File([png], value.slice(1)) : value);
    }
    return { path, init: { method: 'POST', body: form } };
  }

  const headers = { 'content-type': 'application/json' };
  return { path, init: body === undefined ? {} : { method: 'POST', headers, body } };
}

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=',
  'base64',
);

test('each sample of README and of the guides works unchanged, except for its ids', async (t) => {
  const client = await api.newClient();
  const [mastodon, bluesky] = await Promise.all([
    storeChannel(api.punctual, client.workspaceId),
    storeChannel(api.punctual, client.workspaceId, { platform: 'bluesky', handle: 'b.test' }),
  ]);
  const ids: Record<string, string> = { MASTODON: mastodon, BLUESKY: bluesky };
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const commands = [...commandsOf(readme), ...commandsOf(page)];
  t.is(commands.length, 14);
  for (const command of commands) {
    const filled = command
      .replaceAll(/'\$(?<name>[A-Z]+)'/gv, (_, name: string) => ids[name] ?? name)
      .replace(/20\d\d-06-01T/v, `${new Date().getUTCFullYear() + 1}-06-01T`)
      .replace('01a1fb38-9c9e-7069-9b5d-80591be7a49f', mastodon)
      .replace('01a1fb38-9cc1-7163-9496-e4e61cae5832', bluesky)
      .replace('01a1fb38-e678-7a21-ae9a-ab0978e18bc4', ids['POST'] ?? '');
    const { path, init } = requestOf(filled);
    const authorization = `Bearer ${client.key}`;
    const answer = await fetch(`${api.punctual.url}/api/v1${path}`, {
      ...init,
      headers: { ...(init.headers as Record<string, string>), authorization },
    });
    const text = await answer.text();
    t.true(answer.ok, `${command}\n${text}`);
    const { post, media } = JSON.parse(text);
    ids['POST'] ??= post?.id;
    ids['CAT'] ??= media?.id;
  }
});

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (file: string): string => readFileSync(`${root}/${file}`, 'utf8');
const namesIn = (text: string, pattern: RegExp): readonly string[] =>
  [...new Set([...text.matchAll(pattern)].map(([, name = '']) => name))].toSorted();

/** Names in examples of the API. */
const none = new Set(['PUNCTUAL_SECRET', 'PUNCTUAL_URL']);

test('the page of settings has exactly the settings that the programs read, and processes know them all', (t) => {
  const folders = 'accounts,activities,api,cli,db,networks,runtime,sandbox,scripts,temporal,worker';
  const files = globSync(`{${folders}}/**/*.{ts,mjs}`, { cwd: root });
  const sources = files
    .filter((file) => !file.endsWith('config/settings.ts'))
    .map(read)
    .join('\n');
  const known = namesIn(sources, /\b(PUNCTUAL_[A-Z\d_]+)\b(?!_)/gv);
  const described = namesIn(read('docs/operate/settings.md'), /`(PUNCTUAL_[A-Z\d_]+)`/gv);
  t.true(known.length > 30);
  const without = (names: readonly string[], others: readonly string[]) =>
    names.filter((name) => !none.has(name) && !others.includes(name));
  t.deepEqual(without(described, known), []);
  t.deepEqual(without(known, described), []);
  const all = Object.fromEntries(described.map((name) => [name, '?']));
  const { message } = t.throws(() =>
    readSettings(all, { config: readConfig, networks: openNetworks, temporal: temporalOptions }),
  );
  t.notRegex(message, /Unknown setting/v);
});
