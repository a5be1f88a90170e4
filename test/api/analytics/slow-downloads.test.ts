import { sumAllMetrics } from '../../support/sum-all-metrics.ts';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import type { Client } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { poll } from '../../support/poll.ts';
import { january, workspace } from './published-posts.ts';

const api = sharedApi(test);

/** Size of the posts in bytes: more than both ends of a connection buffer. */
const size = 40_000_000;

async function manyPosts(): Promise<Client> {
  const { client, mastodon } = await workspace(api);
  const em = api.punctual.orm.em.fork();
  await em.execute(
    `insert into posts (id, workspace_id, body, status, published_at, created_at, updated_at)
     select gen_random_uuid(), ?, repeat('x', 10000), 'published', '2027-01-05T00:00:00Z', now(), now()
     from generate_series(1, ?::int)`,
    [client.workspaceId, size / 10_000],
  );
  await em.execute(
    `insert into post_channels (id, workspace_id, post_id, channel_id, position, status, published_at)
     select gen_random_uuid(), workspace_id, id, ?, 0, 'published', published_at from posts where workspace_id = ?`,
    [mastodon, client.workspaceId],
  );
  await sumAllMetrics(em, client.workspaceId);
  return client;
}

/** Requests the download without reading the response. */
async function ask(t: ExecutionContext, { key }: Client): Promise<Socket> {
  const { hostname, port } = new URL(api.punctual.url);
  const socket = connect(Number(port), hostname).pause();
  t.teardown(() => socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const asked = `GET /api/v1/analytics?format=csv&${january} HTTP/1.1`;
  socket.write(`${asked}\r\nhost: punctual.example\r\nauthorization: Bearer ${key}\r\n\r\n`);
  return socket;
}

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
