import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import type { Client } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { january, workspace } from './published-posts.ts';

const api = sharedApi(test);

/** More posts than one page, the oldest of which makes the query fail. */
async function brokenPosts(): Promise<Client> {
  const { client, mastodon } = await workspace(api);
  const em = api.punctual.orm.em.fork();
  // A thread must be a list: cutting this one fails, after the first posts were sent.
  await em.execute(
    `insert into posts (id, workspace_id, body, thread, status, published_at, created_at, updated_at)
     select gen_random_uuid(), ?, case when n > 1 then 'Hi' end, case n when 1 then to_jsonb(repeat('x', 20000)) end,
       'published', '2027-01-05T00:00:00Z'::timestamptz + n * interval '1 s', now(), now()
     from generate_series(1, 600) n`,
    [client.workspaceId],
  );
  await em.execute(
    `insert into post_channels (id, workspace_id, post_id, channel_id, position, status, published_at)
     select gen_random_uuid(), workspace_id, id, ?, 0, 'published', published_at from posts where workspace_id = ?`,
    [mastodon, client.workspaceId],
  );
  return client;
}

/** Downloads as a client or a proxy with this HTTP version. @returns the bytes, if the response looks complete. */
async function download(t: ExecutionContext, { key }: Client, http: string): Promise<string> {
  const { hostname, port } = new URL(api.punctual.url);
  const socket = connect(Number(port), hostname);
  t.teardown(() => socket.destroy());
  await once(socket, 'connect');
  const asked = `GET /api/v1/analytics?format=csv&${january} HTTP/${http}`;
  socket.write(`${asked}\r\nhost: punctual.example\r\nauthorization: Bearer ${key}\r\n\r\n`);
  return text(socket);
}

for (const http of ['1.0', '1.1']) {
  test(`a download that the database breaks off is incomplete to a client of HTTP/${http}`, async (t) => {
    const client = await brokenPosts();
    await t.throwsAsync(download(t, client, http), { code: 'ECONNRESET' });
    t.is((await client.get(`/analytics?${january}&limit=1`)).status, 200);
  });
}
