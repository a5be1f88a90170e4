import test from 'ava';
import { createApiKey } from '../../../cli/admin/workspaces.ts';
import { clientFor, newClient, type Reply } from '../../support/client.ts';
import { noTemporal } from '../../support/media-library.ts';
import { startApi } from '../../support/punctual.ts';

test('concurrent writes beyond the limit of requests do not count as writes', async (t) => {
  // All counted calls must fit into one real minute: few calls, and a separate API.
  const punctual = await startApi(t, { temporalEnv: noTemporal, rateLimits: { requests: 4 } });
  const client = await newClient(punctual);
  await Promise.all([client.get('/me'), client.get('/me')]);
  const calls = Array.from({ length: 10 }, () => client.post('/posts', { body: 'x' }));
  const accepted = (await Promise.all(calls)).filter(({ status }) => status === 201);
  t.is(accepted.length, 2);
  const { id } = (
    await punctual.orm.em.fork().execute<{ id: string }[]>('select id from api_keys')
  )[0] ?? { id: '' };
  t.is((await punctual.callsOf(id)).writes, 2);
});

test('all keys of a workspace together have the calls of ten, however many it makes', async (t) => {
  const punctual = await startApi(t, { temporalEnv: noTemporal, rateLimits: { requests: 2 } });
  const { workspaceId } = await newClient(punctual);
  const replies: Reply[] = [];
  for (let n = 0; n < 11; n += 1) {
    const key = await createApiKey(punctual.orm.em.fork(), workspaceId);
    const client = clientFor(punctual.url, workspaceId, key);
    replies.push(await client.get('/me'), await client.get('/me'));
  }

  const statuses = replies.map(({ status }) => status);
  t.deepEqual(statuses, [...Array.from({ length: 20 }, () => 200), 429, 429]);
  const headers = replies.at(-1)?.headers;
  t.regex(headers?.get('ratelimit') ?? '', /^"workspace-requests";r=0;t=\d+$/v);
  t.regex(headers?.get('ratelimit-policy') ?? '', /^"workspace-requests";q=20;w=60, /v);
  t.is((await (await newClient(punctual)).get('/me')).status, 200, 'another workspace');
});
