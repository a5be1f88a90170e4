import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import { createApp } from '../../../api/app.ts';
import type { ApiDeps } from '../../../api/deps.ts';
import { admission, type Punctual, startApi } from '../../support/punctual.ts';
import { freePort } from '../../../scripts/ports.ts';
import { newClient, type Client } from '../../support/client.ts';
import { testLog } from '../../support/temporal.ts';
import type { Contract } from '../../support/contract.ts';
import { rawCall } from '../../support/raw-call.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { upload } from '../../support/media-library.ts';
import { limit } from '../quotas/limited.ts';
import { filled, json, type RecordAnswer } from './record-answer.ts';

type OneCall = { readonly method: string; readonly path: string };

const callsOf = ({ document }: Contract): OneCall[] =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => ({ path, method })),
  );

/** The refusals that all calls of a kind share. */
export async function refusals(
  { url }: Punctual,
  callers: { readonly client: Client; readonly operator: Client },
  contract: Contract,
  recordAnswer: RecordAnswer,
) {
  const [ofClient, ofOperator] = [callers.client, callers.operator].map(({ key }) => ({
    authorization: `Bearer ${key}`,
  }));
  for (const { method, path } of callsOf(contract)) {
    const call = async (init: RequestInit, query = ''): Promise<void> => {
      const address = `${url}/api/v1${filled(path)}${query}`;
      recordAnswer(
        `${method} ${path}`,
        await rawCall(address, { method: method.toUpperCase(), ...init }),
      );
    };
    const isForOperators = path.startsWith('/workspaces');
    const headers = { ...(isForOperators ? ofOperator : ofClient) };
    await call({});
    await call({ headers: { ...(isForOperators ? ofClient : ofOperator) } });
    await call({ headers }, '?nothing=1');
    if (path.includes('{') && method !== 'patch') {
      await call({ headers });
    }

    if (method !== 'get') {
      const body = JSON.stringify('x'.repeat(1024 * 1024));
      await call({ headers: { ...headers, ...json }, body });
      await call({ headers: { ...headers, 'content-type': 'text/plain' }, body: '{}' });
    }
  }
}

/** Every call, by a key that has called too often. */
export async function tooMany(
  t: ExecutionContext,
  contract: Contract,
  recordAnswer: RecordAnswer,
): Promise<void> {
  const punctual = await startApi(t, { rateLimits: { requests: 1 } });
  const client = await newClient(punctual);
  await client.get('/me');
  await eachCall(punctual.url, client, contract, recordAnswer);
}

export async function withoutPlan(
  { orm }: Punctual,
  client: Client,
  recordAnswer: RecordAnswer,
): Promise<void> {
  const setPlan = (plan: string | null): Promise<unknown> =>
    orm.em
      .fork()
      .execute('update workspaces set plan = ? where id = ?', [plan, client.workspaceId]);
  const draft = (await client.post('/posts', { body: 'Hello.' })).body.post.id;
  await setPlan(null);
  recordAnswer('post /posts', await client.post('/posts', { body: 'Hello.' }));
  recordAnswer('patch /posts/{id}', await client.patch(`/posts/${draft}`, { body: 'Hello.' }));
  recordAnswer('post /posts/{id}/retry', await client.post(`/posts/${draft}/retry`));
  recordAnswer('post /posts/{id}/copy', await client.post(`/posts/${draft}/copy`));
  const [channel] = (await client.get('/channels')).body.channels;
  const reconnect = await client.post(`/channels/${channel.id}/reconnect`, { retry_posts: true });
  recordAnswer('post /channels/{id}/reconnect', reconnect);
  await setPlan('standard');
}

/** A workspace whose quotas are used up. */
export async function whenFull(
  punctual: Punctual,
  client: Client,
  recordAnswer: RecordAnswer,
): Promise<void> {
  const draft = (await client.post('/posts', { body: 'Hello.' })).body.post.id;
  const file = await storeMedia(punctual, client.workspaceId);
  await limit(punctual, client, {
    channels: 0,
    drafts: 0,
    text_bytes: 0,
    files: 0,
    media_bytes: 0,
  });
  const withFile = { body: 'Hello.', media_urls: ['https://8.8.8.8/cat.png'] };
  recordAnswer('post /posts', await client.post('/posts', { body: 'Hello.' }));
  recordAnswer('post /posts/validate', await client.post('/posts/validate', withFile));
  recordAnswer('post /posts/{id}/copy', await client.post(`/posts/${draft}/copy`));
  recordAnswer(
    'patch /posts/{id}',
    await client.patch(`/posts/${draft}`, { body: 'Hello there.' }),
  );
  const connecting = { platform: 'mastodon' };
  recordAnswer('post /channels/connect', await client.post('/channels/connect', connecting));
  recordAnswer('post /media', await upload(punctual, client, { bytes: Buffer.from('not read') }));
  const link = { url: 'https://8.8.8.8/cat.png' };
  recordAnswer('post /media/import', await client.post('/media/import', link));
  recordAnswer('patch /media/{id}', await client.patch(`/media/${file}`, { alt_text: 'A cat.' }));
}

/** A database with a wrong schema, and an unreachable one. */
export async function failures(
  t: ExecutionContext,
  { orm, url }: Punctual,
  client: Client,
  contract: Contract,
  recordAnswer: RecordAnswer,
): Promise<void> {
  await orm.em.fork().execute('alter table workspaces rename column plan to elsewhere');
  await eachCall(url, client, contract, recordAnswer);
  await eachCall(await apiWithoutDatabase(t), client, contract, recordAnswer);
}

/** Every call, by a key. */
export async function eachCall(
  url: string,
  { key }: Pick<Client, 'key'>,
  contract: Contract,
  recordAnswer: RecordAnswer,
) {
  for (const { method, path } of callsOf(contract)) {
    const init = { method: method.toUpperCase(), headers: { authorization: `Bearer ${key}` } };
    recordAnswer(`${method} ${path}`, await rawCall(`${url}/api/v1${filled(path)}`, init));
  }
}

async function apiWithoutDatabase(t: ExecutionContext): Promise<string> {
  const closed = admission(t, `postgresql://nobody@127.0.0.1:${await freePort()}/nothing`);
  // Every call fails at authentication, so the other dependencies are not used.
  const answers = {
    media: { stallMs: 30_000 },
    networks: { oauth: {} },
  };
  const deps = { admission: closed, log: testLog, ...answers } as unknown as ApiDeps;
  const server = createApp(deps).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
