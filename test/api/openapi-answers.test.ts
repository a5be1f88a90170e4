import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { createApp } from '../../api/app.ts';
import type { ApiDeps } from '../../api/deps.ts';
import { createOrm } from '../../db/orm.ts';
import { freePort } from '../support/free-port.ts';
import { newClient, type Client, type Reply } from '../support/client.ts';
import { startApi, type Punctual } from '../support/punctual.ts';
import { testLog } from '../support/temporal.ts';
import { Contract } from './contract.ts';
import { rawCall } from './raw-call.ts';
import { storeChannel } from './stored-channel.ts';

type Look = (path: string, method: string, reply: Reply) => void;

const json = { 'content-type': 'application/json' };

test('every answer that the document describes occurs, and each is as described', async (t) => {
  const punctual = await startApi(t, { allowPorts: [65_000] });
  const contract = await Contract.of(punctual.url);
  const seen = new Set<string>();
  const look: Look = (path, method, reply) => {
    t.deepEqual(contract.answerFaults(path, method, reply), [], `${method} ${path}`);
    seen.add([method, path, reply.status, reply.body.code ?? ''].join(' ').trim());
  };
  const client = await newClient(punctual);
  await posts(punctual, client, look);
  await webhooks(client, look);
  look('/me', 'get', await client.get('/me'));
  look('/channels', 'get', await client.get('/channels'));
  await refusals(punctual.url, client.key, contract, look);
  await withoutPlan(punctual, look);
  await failures(t, punctual, client, contract, look);
  t.deepEqual([...seen].toSorted(), describedIn(contract).toSorted());
});

test('a method that a path does not take is answered as described', async (t) => {
  const { url } = await startApi(t);
  const contract = await Contract.of(url);
  const component = ['components', 'responses', 'method_not_allowed'];
  for (const [path, item] of Object.entries(contract.document.paths)) {
    const described = Object.keys(item).map((method) => method.toUpperCase());
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const reply = await rawCall(`${url}/api/v1${filled(path)}`, { method });
      t.is(reply.status === 405, !described.includes(method), `${method} ${path}`);
      if (reply.status === 405) {
        t.deepEqual(contract.responseFaults(component, reply), []);
        const allow = reply.headers.get('allow')?.split(', ') ?? [];
        t.deepEqual(new Set(allow.filter((one) => one !== 'HEAD')), new Set(described));
      }
    }
  }
});

test('an answer that strays from the document is noticed', async (t) => {
  const punctual = await startApi(t);
  const contract = await Contract.of(punctual.url);
  const reply = await (await newClient(punctual)).get('/me');
  t.deepEqual(contract.answerFaults('/me', 'get', reply), []);

  const stray = (change: Partial<Reply>): string =>
    contract.answerFaults('/me', 'get', { ...reply, ...change }).join('\n');
  const headers = (change: Record<string, string>): Headers =>
    new Headers({ ...Object.fromEntries(reply.headers), ...change });
  t.regex(stray({ status: 299 }), /does not describe 299/v);
  t.regex(stray({ body: { ...reply.body, channels: 1.5 } }), /\/channels must be integer/v);
  t.regex(stray({ body: { ...reply.body, more: 1 } }), /additional properties/v);
  t.regex(stray({ headers: new Headers() }), /^X-Request-Id: [^\n]+\nContent-Type is null$/v);
  t.regex(stray({ headers: headers({ 'x-request-id': '' }) }), /^X-Request-Id: /v);
  t.regex(stray({ headers: headers({ location: '/' }) }), /^Location is not described$/v);
  const error = { status: 401, body: { error: 'No.', code: 'not_found' } };
  t.regex(stray(error), /^WWW-Authenticate: /v);
  t.regex(stray(error), /\/code must be equal to one of the allowed values/v);
});

const filled = (path: string): string => path.replaceAll(/\{\w+\}/gv, crypto.randomUUID());

/** `method path status code` of everything that the calls can answer. */
function describedIn(contract: Contract): string[] {
  return Object.entries(contract.document.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { responses }]) =>
      Object.keys(responses).flatMap((status) => {
        const at = contract.follow(['paths', path, method, 'responses', status]);
        const schema = [...at, 'content', 'application/json', 'schema'];
        const codes = contract.at([...schema, 'allOf', '1', 'properties', 'code', 'enum']);
        return Array.isArray(codes)
          ? codes.map((code) => `${method} ${path} ${status} ${code}`)
          : [`${method} ${path} ${status}`];
      }),
    ),
  );
}

async function posts(punctual: Punctual, client: Client, look: Look): Promise<void> {
  const channel = await storeChannel(punctual, client.workspaceId);
  const scheduled = { body: 'Hello.', channel_ids: [channel], schedule_in_minutes: 60 };
  const key = { 'idempotency-key': 'once' };
  const first = await client.post('/posts', scheduled, key);
  look('/posts', 'post', first);
  look('/posts', 'post', await client.post('/posts', scheduled, key));
  look('/posts', 'post', await client.post('/posts', { body: 'Another.' }, key));
  look('/posts/{id}', 'get', await client.get(`/posts/${first.body.post.id}`));
  const video = { title: 'Live', privacy: 'unlisted', made_for_kids: false };
  look('/posts', 'post', await client.post('/posts', { thread: ['One.', 'Two.'], video }));
  const refused = [
    { bdy: 'Hello.' },
    { channel_ids: [channel] },
    { body: 'Hello.', channel_ids: ['42'] },
    { ...scheduled, scheduled_at: 'soon', schedule_in_minutes: -1 },
    { ...scheduled, channel_ids: [] },
    { ...scheduled, body: 'x'.repeat(501) },
  ];
  for (const body of refused) {
    look('/posts', 'post', await client.post('/posts', body));
  }
}

async function webhooks(client: Client, look: Look): Promise<void> {
  const body = { url: 'http://127.0.0.1:65000/hook', events: ['post.failed', 'webhook.test'] };
  const first = await client.post('/webhooks', { ...body, description: 'Ours' });
  look('/webhooks', 'post', first);
  look('/webhooks/{id}', 'get', await client.get(`/webhooks/${first.body.webhook.id}`));
  const refused = [
    { events: [] },
    { ...body, url: 'https://127.0.0.1/' },
    { ...body, events: ['post.sent'] },
  ];
  for (const one of refused) {
    look('/webhooks', 'post', await client.post('/webhooks', one));
  }

  for (let n = 0; n < 10; n += 1) {
    look('/webhooks', 'post', await client.post('/webhooks', body));
  }
}

/** What every call of a kind refuses in the same way. */
async function refusals(url: string, key: string, contract: Contract, look: Look): Promise<void> {
  const headers = { authorization: `Bearer ${key}` };
  for (const [path, item] of Object.entries(contract.document.paths)) {
    for (const method of Object.keys(item)) {
      const call = async (init: RequestInit, query = ''): Promise<void> => {
        const address = `${url}/api/v1${filled(path)}${query}`;
        look(path, method, await rawCall(address, { method: method.toUpperCase(), ...init }));
      };
      await call({});
      await call({ headers }, '?nothing=1');
      if (path.includes('{')) {
        await call({ headers });
      }

      if (method === 'post') {
        const body = JSON.stringify('x'.repeat(1024 * 1024));
        await call({ headers: { ...headers, ...json }, body });
        await call({ headers: { ...headers, 'content-type': 'text/plain' }, body: '{}' });
      }
    }
  }
}

async function withoutPlan(punctual: Punctual, look: Look): Promise<void> {
  const client = await newClient(punctual);
  const em = punctual.orm.em.fork();
  await em.execute('update workspaces set plan = null where id = ?', [client.workspaceId]);
  look('/posts', 'post', await client.post('/posts', { body: 'Hello.' }));
}

/** A database that is not there, and one that is not as it should be. */
async function failures(
  t: ExecutionContext,
  { orm, url }: Punctual,
  { key }: Client,
  contract: Contract,
  look: Look,
): Promise<void> {
  await orm.em.fork().execute('alter table workspaces rename column plan to elsewhere');
  for (const base of [url, await apiWithoutDatabase(t)]) {
    for (const [path, item] of Object.entries(contract.document.paths)) {
      for (const method of Object.keys(item)) {
        const headers = { authorization: `Bearer ${key}` };
        const call = { method: method.toUpperCase(), headers };
        look(path, method, await rawCall(`${base}/api/v1${filled(path)}`, call));
      }
    }
  }
}

async function apiWithoutDatabase(t: ExecutionContext): Promise<string> {
  const orm = createOrm(`postgresql://nobody@127.0.0.1:${await freePort()}/nothing`);
  // No call gets further than to its key, so the rest of the dependencies is out of reach.
  const server = createApp({ orm, log: testLog } as unknown as ApiDeps).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
    await orm.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
