import test, { type ExecutionContext } from 'ava';
import { newClient, type Client, type Reply } from '../../support/client.ts';
import { startApi, type Punctual } from '../../support/punctual.ts';
import { rawCall } from '../../support/raw-call.ts';
import { storeChannel } from '../../support/seed.ts';
import { storedRows } from '../../support/stored-rows.ts';
import { malformed, type BadInput, type Ids } from './bad-input-cases.ts';
import { unfit } from './unfit-cases.ts';

async function world(t: ExecutionContext) {
  const punctual = await startApi(t);
  const [client, other] = [await newClient(punctual), await newClient(punctual)];
  const limit = { settings: { maxCharacters: 500 } };
  const ids: Ids = {
    mine: await storeChannel(punctual, client.workspaceId, limit),
    second: await storeChannel(punctual, client.workspaceId, {
      platform: 'bluesky',
      handle: 'b.test',
    }),
    foreign: await storeChannel(punctual, other.workspaceId, { handle: '@secret@social.test' }),
    unknown: crypto.randomUUID(),
  };
  return { punctual, client, ids };
}

const send = ({ url }: Punctual, { key }: Client, { body, headers }: BadInput): Promise<Reply> =>
  rawCall(`${url}/api/v1/posts`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

function mustRefuse(t: ExecutionContext, bad: BadInput, reply: Reply): void {
  const { error, code, details, ...rest } = reply.body;
  t.is(reply.status, 400, `${bad.title}: ${JSON.stringify(reply.body)}`);
  t.is(code, bad.code, `${bad.title}: ${error}`);
  t.deepEqual(rest, {}, bad.title);
  t.truthy(error, bad.title);
  t.truthy(reply.headers.get('x-request-id'), bad.title);
  t.is(reply.headers.get('location'), null, bad.title);
  const paths = details?.map(({ path }: { path: string }) => path);
  t.deepEqual(bad.paths && paths, bad.paths, `${bad.title}: ${JSON.stringify(details)}`);
  const names = bad.names ?? '';
  t.true(typeof names === 'string' ? error.includes(names) : names.test(error), error);
}

test('each of over 150 bad requests is refused with its code and its place, and none leaves a trace', async (t) => {
  const { punctual, client, ids } = await world(t);
  const cases = [...malformed, ...unfit(ids)];
  t.true(cases.length >= 150, `${cases.length} cases`);
  const before = await storedRows(punctual.orm);
  for (const bad of cases) {
    mustRefuse(t, bad, await send(punctual, client, bad));
  }

  t.deepEqual(await storedRows(punctual.orm), before);
  t.log(`${cases.length} bad requests`);
});

test('a foreign channel is refused in the words for one that does not exist', async (t) => {
  const { client, ids } = await world(t);
  const refusal = async (id: string): Promise<string> =>
    JSON.stringify((await client.post('/posts', { body: 'x', channel_ids: [id] })).body).replaceAll(
      id,
      'ID',
    );

  t.is(await refusal(ids.foreign), await refusal(ids.unknown));
  t.false((await refusal(ids.foreign)).includes('secret'));
});

test('without an active plan neither a draft nor a scheduled post is taken', async (t) => {
  const { punctual, client, ids } = await world(t);
  await punctual.orm.em
    .fork()
    .execute('update workspaces set plan = null where id = ?', [client.workspaceId]);
  const scheduled = { body: 'x', channel_ids: [ids.mine], schedule_in_minutes: 5 };
  for (const body of [{ body: 'x' }, scheduled]) {
    const reply = await client.post('/posts', body);
    t.is(reply.status, 402);
    t.is(reply.body.code, 'plan_required');
  }

  t.is((await storedRows(punctual.orm)).posts, 0);
  t.is((await client.get('/me')).status, 200);
});
