import test, { type ExecutionContext } from 'ava';
import { clientFor, type Client, type Reply } from '../../support/client.ts';
import { startApi, type Punctual } from '../../support/punctual.ts';
import { ownedBy, silentPort, type Owned } from '../owned.ts';

type World = Owned & { readonly punctual: Punctual };
type Call = (client: Client, world: World) => Promise<Reply>;
type Endpoint = {
  readonly call: Call;
  /** By status, what else brings it about; 401 and 429 are every endpoint's. */
  readonly others?: Readonly<Record<number, Call>>;
  /** Of the call itself. */
  readonly status?: number;
};

const unknown = crypto.randomUUID();

const withoutPlan =
  (call: Call): Call =>
  async (client, owned) => {
    const em = owned.punctual.orm.em.fork();
    const setPlan = (plan: string | null): Promise<unknown> =>
      em.execute('update workspaces set plan = ? where id = ?', [plan, client.workspaceId]);
    await setPlan(null);
    const reply = await call(client, owned);
    await setPlan('standard');
    return reply;
  };

const create: Call = (client) => client.post('/posts', { body: 'x' });
const edit: Call = (client, { draft }) => client.patch(`/posts/${draft}`, { body: 'y' });
const retry: Call = (client, { failed }) => client.post(`/posts/${failed}/retry`);
const hook = { url: 'https://8.8.8.8/hook', events: ['post.failed'] };

/** The specification's endpoints, with the statuses that it and the decisions give each of them. */
const endpoints: Readonly<Record<string, Endpoint>> = {
  'GET /me': { call: (client) => client.get('/me') },
  'GET /channels': { call: (client) => client.get('/channels') },
  'GET /posts': {
    call: (client) => client.get('/posts?status=draft'),
    others: { 400: (client) => client.get('/posts?status=none') },
  },
  'POST /posts': {
    call: create,
    status: 201,
    others: {
      200: async (client) => {
        const once = { body: 'x', idempotency_key: 'once' };
        await client.post('/posts', once);
        return client.post('/posts', once);
      },
      400: (client) => client.post('/posts', {}),
      402: withoutPlan(create),
    },
  },
  'GET /posts/{id}': {
    call: (client, { draft }) => client.get(`/posts/${draft}`),
    others: { 404: (client) => client.get(`/posts/${unknown}`) },
  },
  'PATCH /posts/{id}': {
    call: edit,
    others: {
      400: (client, { draft }) => client.patch(`/posts/${draft}`, { body: '' }),
      402: withoutPlan(edit),
      404: (client) => client.patch(`/posts/${unknown}`, { body: 'y' }),
      409: (client, { failed }) => client.patch(`/posts/${failed}`, { body: 'y' }),
    },
  },
  'POST /posts/{id}/cancel': {
    call: (client, { scheduled }) => client.post(`/posts/${scheduled}/cancel`),
    others: {
      404: (client) => client.post(`/posts/${unknown}/cancel`),
      409: (client, { draft }) => client.post(`/posts/${draft}/cancel`),
    },
  },
  'POST /posts/{id}/retry': {
    call: retry,
    status: 202,
    others: {
      402: withoutPlan(retry),
      404: (client) => client.post(`/posts/${unknown}/retry`),
      409: (client, { draft }) => client.post(`/posts/${draft}/retry`),
    },
  },
  'GET /media': {
    call: (client) => client.get('/media?type=image&search=cat'),
    others: { 400: (client) => client.get('/media?type=audio') },
  },
  'GET /analytics': {
    call: (client) => client.get('/analytics'),
    others: { 400: (client) => client.get('/analytics?from=2026-02-30') },
  },
  'GET /webhooks': { call: (client) => client.get('/webhooks') },
  'POST /webhooks': {
    call: (client) => client.post('/webhooks', hook),
    status: 201,
    others: {
      400: (client) => client.post('/webhooks', { ...hook, url: 'http://8.8.8.8/' }),
      409: async (client) => {
        let reply = await client.post('/webhooks', hook);
        for (let n = 0; n < 10; n += 1) {
          reply = await client.post('/webhooks', hook);
        }

        return reply;
      },
    },
  },
  'GET /webhooks/{id}': {
    call: (client, { webhook }) => client.get(`/webhooks/${webhook}`),
    others: { 404: (client) => client.get(`/webhooks/${unknown}`) },
  },
  'DELETE /webhooks/{id}': {
    call: (client, { webhook }) => client.delete(`/webhooks/${webhook}`),
    others: { 404: (client) => client.delete(`/webhooks/${unknown}`) },
  },
  'POST /webhooks/{id}/test': {
    call: (client, { webhook }) => client.post(`/webhooks/${webhook}/test`),
    others: { 404: (client) => client.post(`/webhooks/${unknown}/test`) },
  },
};

/** The world of an API that lets a key call so often a minute, and what has been called by then. */
async function world(t: ExecutionContext): Promise<World> {
  const punctual = await startApi(t, { allowPorts: [silentPort] });
  return { ...(await ownedBy(punctual)), punctual };
}

test('the specification has 15 endpoints', (t) => {
  t.is(Object.keys(endpoints).length, 15);
});

for (const [name, { call, status = 200, others = {} }] of Object.entries(endpoints)) {
  const wanted = [status, ...Object.keys(others).map(Number)].toSorted((a, b) => a - b);
  test.serial(`${name} answers ${wanted.join(', ')} and 401, each for its reason`, async (t) => {
    const owned = await world(t);
    const { client, punctual } = owned;
    for (const [other, makeIt] of Object.entries(others)) {
      const reply = await makeIt(client, owned);
      t.is(reply.status, Number(other), JSON.stringify(reply.body));
      t.is(typeof reply.body.error, Number(other) === 200 ? 'undefined' : 'string');
    }

    const stranger = clientFor(punctual.url, client.workspaceId, 'svc_live_nobody');
    const refused = await call(stranger, owned);
    t.is(refused.status, 401);
    t.is(refused.body.code, 'unauthorized');
    if (name === 'POST /webhooks') {
      await client.delete(`/webhooks/${owned.webhook}`);
    }

    const reply = await call(client, owned);
    t.is(reply.status, status, JSON.stringify(reply.body));
  });
}

test('every endpoint answers 429 once a key has called too often, and says when to go on', async (t) => {
  const punctual = await startApi(t, { allowPorts: [silentPort], rateLimits: { requests: 5 } });
  const owned = { ...(await ownedBy(punctual)), punctual };
  let calls = 0;
  while ((await owned.client.get('/me')).status !== 429 && calls < 6) {
    calls += 1;
  }

  for (const [name, { call }] of Object.entries(endpoints)) {
    const { status, body, headers } = await call(owned.client, owned);
    t.is(status, 429, name);
    t.is(body.code, 'rate_limited', name);
    t.regex(headers.get('retry-after') ?? '', /^[1-9]\d?$/v, name);
  }
});
