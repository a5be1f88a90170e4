import test from 'ava';
import { clientFor, type Client, type Reply } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { startApi } from '../../support/punctual.ts';
import { storedRows } from '../../support/stored-rows.ts';
import { ownedBy, silentPort, type Owned } from '../owned.ts';

const api = sharedApi(test, { allowPorts: [silentPort] });

const setPlan = ({ workspaceId }: Client, plan: string | null): Promise<unknown> =>
  api.punctual.orm.em
    .fork()
    .execute('update workspaces set plan = ? where id = ?', [plan, workspaceId]);

/** Calls an endpoint in a workspace with one of everything. */
type Call = (client: Client, owned: Owned) => Promise<Reply>;
type Endpoint = {
  readonly call: Call;
  /** Calls for other statuses. Every endpoint also has 401 and 429. */
  readonly others?: Readonly<Record<number, Call>>;
  /** Status of the call itself. */
  readonly status?: number;
};

const unknown = crypto.randomUUID();

const withoutPlan =
  (call: Call): Call =>
  async (client, owned) => {
    await setPlan(client, null);
    const reply = await call(client, owned);
    await setPlan(client, 'standard');
    return reply;
  };

const create: Call = (client) => client.post('/posts', { body: 'x' });
const edit: Call = (client, { draft }) => client.patch(`/posts/${draft}`, { body: 'y' });
const retry: Call = (client, { failed }) => client.post(`/posts/${failed}/retry`);
const hook = { url: 'https://8.8.8.8/hook', events: ['post.failed'] };

/** The calls of the first version, with all their statuses. */
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

test('15 calls are checked against their statuses', (t) => {
  t.is(Object.keys(endpoints).length, 15);
});

for (const [name, { call, status = 200, others = {} }] of Object.entries(endpoints)) {
  const wanted = [status, ...Object.keys(others).map(Number)].toSorted((a, b) => a - b);
  test(`${name} answers ${wanted.join(', ')} and 401, each for its reason`, async (t) => {
    const owned = await ownedBy(api.punctual);
    const { client } = owned;
    for (const [other, makeIt] of Object.entries(others)) {
      const reply = await makeIt(client, owned);
      t.is(reply.status, Number(other), JSON.stringify(reply.body));
      t.is(typeof reply.body.error, Number(other) === 200 ? 'undefined' : 'string');
    }

    const stranger = clientFor(api.punctual.url, client.workspaceId, 'svc_live_nobody');
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

test('every endpoint answers 429 when a key has called too often, with Retry-After', async (t) => {
  const [quota, begunAt] = [7, Date.now()];
  // Its own API, with its own limit. The setup takes as many calls as the workspace has resources.
  const limited = { allowPorts: [silentPort], rateLimits: { requests: quota } };
  const owned = await ownedBy(await startApi(t, limited));
  let taken = 0;
  /** The first refusal. On a slow machine the minute may end, and the next limit must be used up. */
  const refusal = async (call: Call): Promise<Reply> => {
    const reply = await call(owned.client, owned);
    if (reply.status === 429) {
      return reply;
    }

    taken += 1;
    t.true(
      taken <= quota * Math.floor((Date.now() - begunAt) / 60_000),
      'a call beyond the limit was accepted',
    );
    return refusal(call);
  };
  for (const [name, { call }] of Object.entries(endpoints)) {
    const { status, body, headers } = await refusal(call);
    t.is(status, 429, name);
    t.is(body.code, 'rate_limited', name);
    t.regex(headers.get('retry-after') ?? '', /^[1-9]\d?$/v, name);
  }
});

test('without a plan creating, editing and retrying are 402, drafts included, and nothing changes', async (t) => {
  const { client, channel, draft, scheduled, failed } = await ownedBy(api.punctual);
  await setPlan(client, null);
  const before = await storedRows(api.punctual.orm, client.workspaceId);
  const shown = (await client.get('/posts')).body;
  const replies = [
    await client.post('/posts', { body: 'A draft' }),
    await client.post('/posts', { body: 'x', channel_ids: [channel], schedule_in_minutes: 5 }),
    await client.patch(`/posts/${draft}`, { body: 'y' }),
    await client.patch(`/posts/${scheduled}`, { scheduled_at: null }),
    await client.post(`/posts/${failed}/retry`),
  ];
  for (const { status, body } of replies) {
    t.is(status, 402);
    t.is(body.code, 'plan_required');
  }

  t.deepEqual(await storedRows(api.punctual.orm, client.workspaceId), before);
  t.deepEqual((await client.get('/posts')).body, shown);
});

test('without a plan all other calls work: reading, cancelling, webhooks and media', async (t) => {
  const { client, draft, scheduled, webhook, media } = await ownedBy(api.punctual);
  await setPlan(client, null);
  const paths = ['/me', '/channels', '/posts', `/posts/${draft}`, '/media', '/analytics'];
  for (const path of [...paths, '/webhooks', `/webhooks/${webhook}`, `/media/${media}`]) {
    t.is((await client.get(path)).status, 200, path);
  }

  t.is((await client.post(`/posts/${scheduled}/cancel`)).status, 200);
  t.is((await client.post('/posts/validate', { body: 'x' })).status, 200);
  t.is((await client.post(`/webhooks/${webhook}/test`)).status, 200);
  t.is((await client.delete(`/webhooks/${webhook}`)).status, 200);
});

test('with a plan the three calls work again', async (t) => {
  const { client, draft, failed } = await ownedBy(api.punctual);
  await setPlan(client, null);
  t.is((await client.post('/posts', { body: 'x' })).status, 402);
  await setPlan(client, 'standard');
  t.is((await client.post('/posts', { body: 'x' })).status, 201);
  t.is((await client.patch(`/posts/${draft}`, { body: 'y' })).status, 200);
  t.is((await client.post(`/posts/${failed}/retry`)).status, 202);
});
