import { sumAllMetrics } from '../../support/sum-all-metrics.ts';
import test, { type ExecutionContext } from 'ava';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Client } from '../../support/client.ts';
import { holdLock } from '../../support/hold-lock.ts';
import { sharedApi } from '../../support/kit.ts';
import { poll } from '../../support/poll.ts';
import { january, workspace } from './published-posts.ts';

const api = sharedApi(test);

const download = async ({ key }: Client, query: string): Promise<Response> =>
  fetch(`${api.punctual.url}/api/v1/analytics?format=csv&${query}`, {
    headers: { authorization: `Bearer ${key}` },
  });

test('a range is downloaded as CSV, with a line for each post and channel and without formulas', async (t) => {
  const { client, mastodon, x, publish } = await workspace(api);
  const hostile = '=HYPERLINK("http://evil"),\r\nnext';
  const id = await publish(
    '2027-01-10T08:00:00Z',
    [{ channel: mastodon, metrics: { likes: 3, shares: 1 } }, { channel: x }],
    hostile,
  );
  const own =
    "update post_channels set body = 'Edited later', sent_text = 'For X' where channel_id = ?";
  await api.punctual.orm.em.fork().execute(own, [x]);
  const response = await download(client, january);
  t.is(response.headers.get('content-type'), 'text/csv; charset=utf-8; header=present');
  t.is(
    response.headers.get('content-disposition'),
    'attachment; filename="analytics-2027-01-01-2027-01-31.csv"',
  );
  const body = `"'=HYPERLINK(""http://evil""),\r\nnext"`;
  const at = '2027-01-10T08:00:00.000Z';
  t.is(
    await response.text(),
    [
      'post_id,published_at,channel_id,platform,handle,url,text,impressions,likes,comments,shares,saves,engagement,metrics_updated_at,gone_at',
      `${id},${at},${mastodon},mastodon,'@ana@social.test,https://social.test/0,${body},,3,,1,,4,2027-01-01T12:00:00.000Z,`,
      `${id},${at},${x},x,'@x,https://social.test/1,For X,,,,,,,,`,
      '',
    ].join('\r\n'),
  );
});

test('formulas behind ignored characters or in full-width letters are escaped too', async (t) => {
  const { client, mastodon, publish } = await workspace(api);
  const formulas = ['=', '+', '-', '@', '\t=', '\r=', '\n=', ' =', '\u00A0=', '\uFEFF=', '\u200B='];
  const wide = ['\uFF1D', '\uFF0B', '\uFF0D', '\uFF20', ' \uFF1D', '\n', '\t', '\u2028-'];
  const harmless = ['1+1', "'=1", 'a\n=1', 'e@mail', '\u202Ea'];
  const at = '2027-01-10T08:00:00Z';
  const cellOf = async (body: string): Promise<string> => {
    const id = await publish(at, [{ channel: mastodon }], body);
    const csv = await (await download(client, `post_id=${id}`)).text();
    const cells = csv.slice(
      csv.indexOf('https://social.test/0,') + 'https://social.test/0,'.length,
    );
    const cell = cells.slice(0, cells.lastIndexOf(',,,,,,,,'));
    return cell.startsWith('"') ? cell.slice(1, -1) : cell;
  };
  for (const begin of [...formulas, ...wide]) {
    t.is(await cellOf(`${begin}1`), `'${begin}1`, JSON.stringify(begin));
  }
  for (const body of harmless) {
    t.is(await cellOf(body), body);
  }
});

test.serial('a fourth download of a workspace gets 429 while three are under way', async (t) => {
  const [client, other] = [await api.newClient(), await api.newClient()];
  const lock = await holdLock(t, api.punctual.orm, 'lock table post_metrics');
  const downloads = [client, client, client, other].map((one) => download(one, january));
  const begun = await Promise.all(downloads);
  t.is((await download(client, january)).status, 429);
  lock.release();
  t.deepEqual(
    begun.map(({ status }) => status),
    [200, 200, 200, 200],
  );
  await Promise.all(begun.map((response) => response.text()));
  const next = await poll(
    () => download(client, january),
    ({ status }) => status === 200,
  );
  t.is(next.status, 200);
});

/** Stores published posts of January on Mastodon by SQL. @param body Of the post `n`, like `thread` and its time. */
async function storePosts(
  count: number,
  { body, thread = 'null', plus = '0' }: { body: string; thread?: string; plus?: string },
): Promise<Client> {
  const { client, mastodon } = await workspace(api);
  const em = api.punctual.orm.em.fork();
  await em.execute(
    `insert into posts (id, workspace_id, body, thread, status, published_at, created_at, updated_at)
     select gen_random_uuid(), ?, ${body}, ${thread}, 'published',
       '2027-01-05T00:00:00Z'::timestamptz + ${plus} * interval '1 s', now(), now() from generate_series(1, ?::int) n`,
    [client.workspaceId, count],
  );
  await em.execute(
    `insert into post_channels (id, workspace_id, post_id, channel_id, position, status, published_at)
     select gen_random_uuid(), workspace_id, id, ?, 0, 'published', published_at from posts where workspace_id = ?`,
    [mastodon, client.workspaceId],
  );
  await sumAllMetrics(em, client.workspaceId);
  return client;
}

test('the download has every post of the range once, over several pages and with equal times', async (t) => {
  const client = await storePosts(1201, { body: `'x'` });
  for (const query of [
    `${january}&limit=50&offset=0`,
    `${january}&order=asc`,
    `${january}&platform=mastodon`,
  ]) {
    const lines = (await (await download(client, query)).text()).split('\r\n').slice(1, -1);
    t.is(lines.length, 1201, query);
    t.is(new Set(lines).size, 1201, query);
  }

  const none = await (await download(client, 'from=2026-01-01&to=2026-01-02')).text();
  t.is(none.split('\r\n').length, 2);
});

test('a download refuses limit, offset and an order by a metric', async (t) => {
  const client = await api.newClient();
  for (const [query, path] of [
    ['limit=5', '?limit'],
    ['offset=1', '?offset'],
    ['sort=likes', '?sort'],
  ]) {
    const response = await download(client, `${query}`);
    t.is(response.status, 400, query);
    const body = (await response.json()) as { details: { path: string }[] };
    t.is(body.details[0]?.path, path);
  }
});

test('analytics of a hundred long threads on many channels are two megabytes at most', async (t) => {
  const { mastodon, bluesky, publish, fetchAnalytics } = await workspace(api);
  const channels = [{ channel: mastodon }, { channel: bluesky }];
  const thread = Array.from({ length: 6 }, (_, n) => `${n}`.repeat(50_000));
  for (let made = 0; made < 100; made += 1) {
    const id = await publish('2027-01-10T08:00:00.000Z', channels);
    const sql = 'update posts set body = null, thread = ?::jsonb where id = ?';
    await api.punctual.orm.em.fork().execute(sql, [JSON.stringify(thread), id]);
  }

  const body = await fetchAnalytics(`${january}&limit=100`);
  t.is(body.posts?.length, 100, JSON.stringify(body).slice(0, 300));
  t.true(JSON.stringify(body).length < 2_100_000, String(JSON.stringify(body).length));
  const [post] = body.posts;
  t.true(post.body_truncated);
  t.deepEqual(post.thread, ['0'.repeat(10_000), '', '', '', '', '']);
  t.is(post.channels.length, 2);
});

/** More than one page. Cutting the thread of the oldest, which must be a list, fails after the first posts were sent. */
const brokenPosts = () =>
  storePosts(600, {
    body: `case when n > 1 then 'Hi' end`,
    thread: `case n when 1 then to_jsonb(repeat('x', 20000)) end`,
    plus: 'n',
  });

/** Requests the download as a client or a proxy with this HTTP version, without reading the response. */
async function ask(t: ExecutionContext, { key }: Client, http = '1.1'): Promise<Socket> {
  const { hostname, port } = new URL(api.punctual.url);
  const socket = connect(Number(port), hostname).pause();
  t.teardown(() => socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const asked = `GET /api/v1/analytics?format=csv&${january} HTTP/${http}`;
  socket.write(`${asked}\r\nhost: punctual.example\r\nauthorization: Bearer ${key}\r\n\r\n`);
  return socket;
}

for (const http of ['1.0', '1.1']) {
  test(`a download that the database breaks off is incomplete to a client of HTTP/${http}`, async (t) => {
    const client = await brokenPosts();
    await t.throwsAsync(text(await ask(t, client, http)), { code: 'ECONNRESET' });
    t.is((await client.get(`/analytics?${january}&limit=1`)).status, 200);
  });
}

/** Size of the posts in bytes: more than both ends of a connection buffer. */
const size = 40_000_000;
const manyPosts = () => storePosts(size / 10_000, { body: `repeat('x', 10000)` });

/** The number of running statements of downloads, and of transactions that wait for their client. */
async function underWay(): Promise<number> {
  const [row] = await api.punctual.orm.em.fork().execute<{ count: number }[]>(
    `select count(*)::int as count from pg_stat_activity
     where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()`,
  );
  return row?.count ?? 0;
}

test.serial('clients that do not read their download hold no database connection', async (t) => {
  const client = await manyPosts();
  const sockets = await Promise.all(Array.from({ length: 20 }, () => ask(t, client)));
  await Promise.all(sockets.map((socket) => once(socket, 'readable')));
  await poll(underWay, (count) => count === 0);
  t.is((await client.get('/me')).status, 200);
});

test.serial(
  'clients that hang up in the middle of a download leave nothing under way',
  async (t) => {
    const client = await manyPosts();
    for (const socket of await Promise.all(Array.from({ length: 20 }, () => ask(t, client)))) {
      socket.resume();
      await once(socket, 'data');
      socket.destroy();
    }

    await poll(underWay, (count) => count === 0);
    t.is((await client.get('/me')).status, 200);
  },
);

test.serial('a download ends when its key is revoked', async (t) => {
  const client = await manyPosts();
  const socket = await ask(t, client);
  await once(socket, 'readable');
  const { id } = (await client.get('/me')).body.key;
  t.is((await client.delete(`/keys/${id}`)).status, 200);
  let bytes = 0;
  socket.on('data', (chunk: Uint8Array) => {
    bytes += chunk.length;
  });
  await t.throwsAsync(once(socket.resume(), 'close'), { code: 'ECONNRESET' });
  t.true(bytes < size, `${bytes}`);
});
