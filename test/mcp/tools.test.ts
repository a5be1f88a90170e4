import { readFile } from 'node:fs/promises';
import type { ExecutionContext } from 'ava';
import { createApiKey } from '../../cli/admin/workspaces.ts';
import { scopes, type Scope } from '../../domain/api-keys.ts';
import { tools } from '../../mcp/tools.ts';
import { sharedApi } from '../support/kit.ts';
import { lossyProxy } from '../support/lossy-proxy.ts';
import { noTemporal } from '../support/media-library.ts';
import { needs } from '../support/needs.ts';
import { endedPost, storeChannel } from '../support/seed.ts';
import { openNetworks } from '../../networks/registry.ts';
import { connectTo, eras, type McpClient, connectBy } from './clients.ts';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const test = needs('postgres', 'typescript-generator');
const api = sharedApi(test, { temporalEnv: noTemporal, networks: await openNetworks({}).load() });

const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });

/** A workspace with a channel, and an official client with its key. */
async function begin(t: ExecutionContext, era = eras['client 2, 2026-07-28']!) {
  const client = await api.newClient();
  const channel = await storeChannel(api.punctual, client.workspaceId);
  const mcp = await connectTo(era, `${api.punctual.url}/mcp`, bearer(client.key));
  t.teardown(() => mcp.close());
  return { client, channel, mcp, call: callerOf(t, mcp) };
}

/** @returns the answer of a tool, and its sentence if it refuses. */
const callerOf =
  (t: ExecutionContext, mcp: McpClient) =>
  async (name: string, args: object = {}) => {
    const { isError, content, structuredContent } = await mcp.callTool({ name, arguments: args });
    const text = content[0]?.text ?? '';
    if (!isError) {
      t.deepEqual(JSON.parse(text), structuredContent);
    }

    return { ...structuredContent, ...(isError ? { refusal: text } : {}) };
  };

for (const [name, era] of Object.entries(eras)) {
  // The clients compare each answer with the tool's `outputSchema`.
  test(`${name}: a post is checked, made, changed, scheduled, found and cancelled`, async (t) => {
    const { client, channel, mcp, call } = await begin(t, era);
    const { tools: listed } = await mcp.listTools();
    t.deepEqual(
      listed.map((tool) => tool.name),
      tools.map((tool) => tool.name),
    );
    t.like(await call('list_channels'), {
      channels: [{ id: channel, platform: 'mastodon', handle: '@ana@social.test' }],
    });
    t.is((await call('network_rules', { channel_id: channel })).networks[0].texts[0].limit, 500);

    const post = { body: 'x'.repeat(501), channel_ids: [channel] };
    const time = { scheduled_at: '2027-03-01T09:00:00', timezone: 'America/New_York' };
    const { valid, channels, ...due } = await call('validate_post', { ...post, ...time });
    t.deepEqual([valid, due.scheduled_at], [false, '2027-03-01T09:00:00-05:00']);
    t.regex(channels[0].errors[0], /500 characters/v);
    const dry = { ...post, body: 'Hello', idempotency_key: 'k', dry_run: true };
    t.like(await call('create_post', dry), { valid: true });
    const made = await call('create_post', { ...dry, body: 'y'.repeat(200), dry_run: false });
    t.is(made.status, 'draft');
    t.is(made.text.length, 140);
    const id = { post_id: made.id };
    t.is((await call('update_post', { ...id, body: 'New' })).text, 'New');
    t.like(await call('schedule_post', { ...id, ...time }), {
      status: 'scheduled',
      scheduled_at: '2027-03-01T09:00:00-05:00',
      timezone: 'America/New_York',
      channels: [{ handle: '@ana@social.test', status: 'scheduled' }],
    });
    t.like(await call('list_posts', { q: 'new', status: 'scheduled' }), {
      posts: [id.post_id].map((one) => ({ id: one })),
    });
    t.like(await call('cancel_post', id), { id: made.id, status: 'draft', still_sending: 0 });
    const copy = await call('copy_post', { ...id, idempotency_key: 'c' });
    t.like(copy, { status: 'draft', text: 'New' });
    await call('update_post', { post_id: copy.id, channel_bodies: { [channel]: 'Own' } });
    const full = await call('get_post', { post_id: copy.id, full: true });
    t.like(full, { text: 'New', channels: [{ text: 'Own' }] });
    const failed = await endedPost(api.punctual, client, new Map([[channel, 'failed']]));
    const { refusal } = await call('update_post', { post_id: failed, body: 'x' });
    t.regex(refusal, /\. copy_post makes a draft of it\. \(post_not_editable/v);
    t.like(await call('retry_post', { post_id: failed }), { status: 'publishing' });
    t.like(await call('analytics'), { totals: { posts: 0 }, posts: [] });
  });
}

test('refusals are sentences of the API, also for input that does not fit a tool', async (t) => {
  const { call } = await begin(t);
  const refusal = async (name: string, args: object) => (await call(name, args)).refusal;
  t.is(
    await refusal('create_post', { bdy: 'x' }),
    'The input of create_post does not fit: /idempotency_key is missing. Unknown field `bdy`. Did you mean `body`? (invalid_request)',
  );
  t.is(
    await refusal('schedule_post', { post_id: crypto.randomUUID() }),
    'Send scheduled_at or schedule_in_minutes. (invalid_request)',
  );
  const key = 'ключ😀';
  t.regex(await refusal('create_post', { body: 'x', idempotency_key: key }), /must have the form/v);
  const past = { body: 'x', scheduled_at: '2020-01-01T00:00:00Z', idempotency_key: 'k' };
  t.regex(
    await refusal('create_post', past),
    /^scheduled_at is in the past: .+ \(invalid_scheduled_at, request [\w\-]+\)$/v,
  );
  const id = crypto.randomUUID();
  t.regex(
    await refusal('get_post', { post_id: id }),
    /^There is no post .+ \(not_found, request /v,
  );
  t.regex(
    await refusal('upload_from_url', { url: 'http://127.0.0.1:1/', idempotency_key: 'u' }),
    /\(invalid_media_url, request /v,
  );
});

const post = { body: 'x', idempotency_key: 'k' };
const id = { post_id: crypto.randomUUID() };

/** By tool: the scope, and input that fits. */
const needed: Readonly<Record<string, readonly [Scope, object]>> = {
  list_channels: ['channels', {}],
  validate_post: ['posts:write', { body: 'x' }],
  create_post: ['posts:write', post],
  update_post: ['posts:write', { ...id, body: 'x' }],
  schedule_post: ['posts:write', { ...id, schedule_in_minutes: 5 }],
  copy_post: ['posts:write', { ...id, idempotency_key: 'k' }],
  cancel_post: ['posts:write', id],
  retry_post: ['posts:publish', id],
  get_post: ['posts:read', id],
  list_posts: ['posts:read', {}],
  upload_from_url: ['media', { url: 'https://example.com/a.png', idempotency_key: 'k' }],
  analytics: ['analytics', {}],
};

test('each tool is refused to a key without its scope', async (t) => {
  const { client } = await begin(t);
  t.deepEqual(
    [...Object.keys(needed), 'network_rules'].toSorted(),
    tools.map(({ name }) => name).toSorted(),
  );
  const callWithout = async (scope: Scope, name: string, args: object) => {
    const rights = { scopes: scopes.filter((one) => one !== scope) };
    const key = await createApiKey(api.punctual.orm.em.fork(), client.workspaceId, rights);
    const mcp = await connectTo(eras['SDK 1']!, `${api.punctual.url}/mcp`, bearer(key));
    const { refusal } = await callerOf(t, mcp)(name, args);
    await mcp.close();
    return refusal;
  };
  for (const [name, [scope, args]] of Object.entries(needed)) {
    const refusal = await callWithout(scope, name, args);
    t.regex(refusal, new RegExp(`^This API key lacks the scope ${scope}\\.`, 'v'), name);
  }

  const soon = await callWithout('posts:publish', 'create_post', {
    ...post,
    schedule_in_minutes: 0,
  });
  t.regex(soon, /^This API key lacks the scope posts:publish\. A post with a time needs it/v);
});

test('an unknown network is refused with the names of the known ones, and a known one without accounts is an empty list', async (t) => {
  const { call } = await begin(t);
  const names = ['network_rules', 'list_channels', 'list_channels']; // More than the turns of a key.
  const asked = names.map((name) => call(name, { platform: 'mastadon' }));
  for (const { refusal } of await Promise.all(asked)) {
    t.regex(refusal, /There is no platform "mastadon"\. Known: .*mastodon/v);
  }

  t.deepEqual(await call('list_channels', { platform: 'youtube' }), { channels: [] });
});

test('a call that is cut and repeated makes one post', async (t) => {
  const client = await api.newClient();
  const proxy = await lossyProxy(t, api.punctual.url);
  const mcp = await connectTo(
    eras['client 2, 2026-07-28']!,
    `${proxy.url}/mcp`,
    bearer(client.key),
  );
  t.teardown(() => mcp.close());
  const create = { name: 'create_post', arguments: { body: 'Once', idempotency_key: 'k' } };
  proxy.plan({ method: 'POST', path: /\/mcp$/v }, { kind: 'lost' });
  await t.throwsAsync(mcp.callTool(create));
  const { structuredContent: made } = await mcp.callTool(create);
  const { posts } = (await client.get('/posts')).body;
  t.deepEqual([posts.length, posts[0].id], [1, made.id]);
});

test('lists have 20 rows and go on by their cursor', async (t) => {
  const { client, call } = await begin(t);
  for (let n = 0; n < 21; n += 1) {
    await client.post('/posts', { body: `Post ${n}` });
    await storeChannel(api.punctual, client.workspaceId, { handle: `@${n}@social.test` });
  }

  for (const [name, rows, left] of [
    ['list_posts', 'posts', 1],
    ['list_channels', 'channels', 2],
  ] as const) {
    const first = await call(name);
    t.is(first[rows].length, 20);
    const second = await call(name, { cursor: first.next_cursor });
    t.is(second[rows].length, left);
    t.is(second.next_cursor, undefined);
  }
});

test('the list of tools takes less than 12 kB, about 3,000 tokens', async (t) => {
  const { mcp } = await begin(t);
  const { tools: listed } = await mcp.listTools();
  const bytes = Buffer.byteLength(JSON.stringify(listed));
  t.true(bytes <= 12_000, `${bytes} bytes`);
});

test('the settings of the manual connect a client', async (t) => {
  const page = await readFile(new URL('../../docs/guides/mcp.md', import.meta.url), 'utf8');
  const blocks = [...page.matchAll(/^```json\n(?<json>.*?)^```$/gmsv)].map(({ groups }) =>
    JSON.parse(groups?.['json'] ?? ''),
  );
  const servers = blocks.map(({ mcpServers, servers: own }) => (mcpServers ?? own).punctual);
  t.is(servers.length, 2);
  const { key } = await api.newClient();
  for (const { url, headers } of servers) {
    const own = url.replace('https://punctual.example.com', api.punctual.url);
    const filled = headers.Authorization.replace(/svc_live_…|\$\{input:punctual\}/v, key);
    const mcp = await connectTo(eras['SDK 1']!, own, { Authorization: filled });
    t.is((await mcp.listTools()).tools.length, 13);
    await mcp.close();
  }
});

const ours = (name: string): string =>
  JSON.stringify(pathToFileURL(path.join(import.meta.dirname, '../..', name)).href);

/** What the command does with the address and the key of its profile. */
const program = `
  import { serveMcpOverStdio } from ${ours('mcp/stdio.ts')};
  import { Punctual } from ${ours('sdk/src/index.ts')};
  const { PUNCTUAL_API_KEY: apiKey, PUNCTUAL_URL: baseUrl } = process.env;
  await serveMcpOverStdio(new Punctual({ apiKey, baseUrl }));
`;

for (const [name, era] of Object.entries(eras)) {
  test(`${name}: the tools answer over standard input and output`, async (t) => {
    const { key } = await api.newClient();
    const env = { PUNCTUAL_URL: api.punctual.url, PUNCTUAL_API_KEY: key };
    const args = ['--input-type=module', '--eval', program];
    const mcp = await connectBy(era, { command: process.execPath, args, env });
    t.teardown(() => mcp.close());
    t.is((await mcp.listTools()).tools.length, 13);
    const create = { body: 'Hello', idempotency_key: 'k' };
    const { structuredContent } = await mcp.callTool({ name: 'create_post', arguments: create });
    t.is(structuredContent.status, 'draft');
    const refused = await mcp.callTool({ name: 'get_post', arguments: {} });
    t.regex(refused.content[0]!.text, /\/post_id is missing/v);
  });
}
