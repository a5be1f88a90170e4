import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';
import { openGrant } from '../../services/channels/grants.ts';
import { openBrowser as openPerson, refreshOf } from '../api/connect/person.ts';
import { openSandbox } from '../sandbox/open-sandbox.ts';
import { blueskyAccount, networkPorts } from '../support/accounts.ts';
import { startReadyApi } from '../support/api-process.ts';
import { openBrowser } from '../support/browser.ts';
import { clientFor } from '../support/client.ts';
import { createApiKey, createWorkspace } from '../../cli/admin/workspaces.ts';
import { env } from '../support/env.ts';
import { needs } from '../support/needs.ts';
import { opened } from '../support/opened-ports.ts';
import { authorizeAtPds } from '../support/pds-browser.ts';
import { startApi, type Punctual } from '../support/punctual.ts';
import { spawnWorker } from '../support/worker-process.ts';

const test = needs('temporal', 'pds');

const publicUrl = 'http://127.0.0.1:3000';
const appSecret = 'planted-secret-of-the-app';

/** An API and a worker as operators start them, with full logs, the sandbox and a PDS. */
async function start(t: ExecutionContext) {
  const sandbox = await openSandbox(t);
  const urls = [sandbox.url, env('PUNCTUAL_TEST_PLC_URL')];
  const ports = [...networkPorts(), ...urls.map((url) => Number(new URL(url).port))];
  const punctual = await startApi(t, { allowPorts: ports, networks: {} });
  const settings = {
    ...punctual.temporalEnv,
    ...opened(ports),
    DATABASE_URL: punctual.databaseUrl,
    SECRET_KEY: punctual.secretKey,
    LOG_LEVEL: 'trace',
    PUNCTUAL_PUBLIC_URL: publicUrl,
    PUNCTUAL_SANDBOX_URL: sandbox.url,
    PUNCTUAL_X_CLIENT_ID: 'the-app',
    PUNCTUAL_X_CLIENT_SECRET: appSecret,
    PUNCTUAL_BLUESKY_PLC_URL: env('PUNCTUAL_TEST_PLC_URL'),
    PUNCTUAL_BLUESKY_RESOLVER_URL: env('PUNCTUAL_TEST_PDS_URL'),
  };
  const api = await startReadyApi(t, settings);
  const worker = spawnWorker(t, punctual, ports, undefined, settings);
  await worker.logged('polling');
  const em = punctual.orm.em.fork();
  const workspaceId = await createWorkspace(em, 'Test');
  const client = clientFor(api.url, workspaceId, await createApiKey(em, workspaceId));
  const order = async (directive: string, more: object = {}): Promise<void> => {
    const body = JSON.stringify({ platform: 'x', directive, ...more });
    const headers = { 'content-type': 'application/json' };
    t.is((await fetch(`${sandbox.url}/control`, { method: 'POST', headers, body })).status, 200);
  };
  return { punctual, api, worker, client, order };
}

type Started = Awaited<ReturnType<typeof start>>;

/** Connects an account as a person does. @returns the channel's id, and the secrets of the flow. */
async function connect(
  { api, client }: Started,
  body: Readonly<Record<string, unknown>>,
  allow: (at: string) => Promise<string>,
) {
  const { link } = (await client.post('/channels/connect', body)).body;
  const person = openPerson(api.url);
  const left = await person.submit(await person.get(link), 'begin');
  const back = new URL(await allow(refreshOf(left)));
  await person.get(back.href);
  const channels: { id: string; platform: string }[] = (await client.get('/channels')).body
    .channels;
  const id = channels.find(({ platform }) => platform === body['platform'])?.id ?? '';
  const token = new URL(link).pathname.split('/').at(-1) ?? '';
  const { code = '', state = '' } = Object.fromEntries(back.searchParams);
  return { id, secrets: [token, code, state, ...person.cookies.values()] };
}

/** The secrets of a grant: tokens, and the private part of a DPoP key. */
async function secretsOf({ orm, deps }: Punctual, channelId: string): Promise<string[]> {
  const sql = 'select sealed_grant from channel_grants where channel_id = ?';
  const [row] = await orm.em.fork().execute<{ sealed_grant: string }[]>(sql, [channelId]);
  const { accessToken, refreshToken, data } = openGrant(
    deps.sealer,
    channelId,
    row?.sealed_grant ?? '',
  );
  const key = /"d":"(?<d>[^"]+)"/v.exec(JSON.stringify(data) ?? '')?.groups?.['d'];
  return [accessToken, refreshToken ?? '', ...(key === undefined ? [] : [key])];
}

/** All histories of the namespace, with decoded payloads. */
async function histories({ temporal }: Punctual): Promise<string> {
  const texts: string[] = [];
  for await (const { workflowId, runId } of temporal.client.workflow.list()) {
    const handle = temporal.client.workflow.getHandle(workflowId, runId);
    const whole = JSON.stringify(await handle.fetchHistory(), (_key, value) =>
      value?.type === 'Buffer' ? Buffer.from(value.data).toString('utf8') : value,
    );
    texts.push(whole);
  }

  return texts.join('\n');
}

/** Everything that other users of the machine can read, and the output of the API and PostgreSQL. */
async function places({ punctual, api, worker, client }: Started, posts: readonly string[]) {
  const run = promisify(execFile);
  const em = punctual.orm.em.fork();
  const answers = [];
  for (const path of ['/channels', '/posts', '/networks', ...posts.map((id) => `/posts/${id}`)]) {
    answers.push((await client.get(path)).body);
  }

  const rows = async (sql: string) => JSON.stringify(await em.execute(sql));
  return {
    'the log of the API': api.log(),
    'the log of the worker': worker.output(),
    'the log of PostgreSQL': await readFile(env('PUNCTUAL_TEST_POSTGRES_LOG'), 'utf8'),
    Temporal: await histories(punctual),
    'the list of processes': (await run('ps', ['-eo', 'args', '-ww'])).stdout,
    'answers of the API': JSON.stringify(answers),
    'errors and events': await rows(
      `select (select json_agg(error) from channels) channels, (select json_agg(error) from post_channels) posts,
        (select json_agg(error) from connect_links) links, (select json_agg(body) from events) events`,
    ),
    'connect links': await rows('select * from connect_links'),
    'sealed rows': await rows('select * from channel_grants'),
  };
}

/** The secret as it is, URL-encoded and in base64. */
const forms = (secret: string): string[] => [
  secret,
  encodeURIComponent(secret),
  Buffer.from(secret).toString('base64').replace(/=+$/v, ''),
];

test('no secret of a connection is in a log, in Temporal, in an error, in a list of processes or in an answer', async (t) => {
  const started = await start(t);
  const { punctual, client, order } = started;
  const x = await connect(started, { platform: 'x', sandbox: true }, async (at) => {
    const browser = openBrowser(publicUrl);
    return (await browser.press(await browser.open(at), 'Allow')).url;
  });
  const owner = await blueskyAccount();
  const bluesky = await connect(
    started,
    { platform: 'bluesky', handle: owner.handle },
    async (at) => (await authorizeAtPds(at, owner)).href,
  );
  const secrets = [appSecret, ...x.secrets, ...bluesky.secrets];
  const note = async (): Promise<void> => {
    for (const id of [x.id, bluesky.id]) {
      secrets.push(...(await secretsOf(punctual, id)));
    }
  };
  await note();
  const send = async (text: string): Promise<string> => {
    const channel_ids = [x.id, bluesky.id];
    const post = { body: text, channel_ids, schedule_in_minutes: 0 };
    const { id } = (await client.post('/posts', post)).body.post;
    await client.finalPost(id);
    return id;
  };
  const posts = [await send('With the first tokens')];
  await note();
  await order('expire');
  posts.push(await send('With the next ones'));
  await note();
  await order('revoke');
  // A token that is refused right after a refresh would be retried for ten minutes.
  const longAgo = `update channel_grants set refreshed_at = refreshed_at - interval '1 hour'`;
  await punctual.orm.em.fork().execute(longAgo);
  posts.push(await send('With none'));
  await client.post(`/channels/${x.id}/check`);

  const { body } = await client.get(`/posts/${posts[2]}`);
  t.deepEqual(
    body.post.channels.map(({ status }: { status: string }) => status),
    ['failed', 'published'],
  );
  const all = [...new Set(secrets)].filter((secret) => secret !== '');
  t.true(all.length >= 12, `${all.length} secrets`);
  t.true(all.every(({ length }) => length >= 16));
  for (const [place, text] of Object.entries(await places(started, posts))) {
    t.true(text.length > 100, place);
    for (const [index, secret] of all.entries()) {
      const found = forms(secret).find((form) => text.includes(form));
      t.is(found, undefined, `${place} has secret ${index} of ${all.length}`);
    }
  }
});
