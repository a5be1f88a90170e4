import { connectChannel } from '../../cli/connect-channel.ts';
import { createWorkspace } from '../../cli/create-workspace.ts';
import type { Punctual } from '../support/punctual.ts';

/** Rows of each kind in each of the workspaces. */
const each = 500;

/**
 * Fills the database with workspaces that have many posts, files and deliveries, besides the one given, which gets
 * as many. In so large a table PostgreSQL reads the whole of it for one workspace only when it has no index.
 *
 * @returns an endpoint of the workspace given.
 */
export async function fillWorkspaces(punctual: Punctual, workspaceId: string): Promise<string> {
  const { orm, deps } = punctual;
  const em = orm.em.fork();
  const ids = [workspaceId];
  for (let count = 0; count < 79; count += 1) {
    ids.push(await createWorkspace(em.fork(), `Other ${count}`));
  }

  for (const id of ids) {
    await connectChannel(em.fork(), deps.sealer, id, 'mastodon', account);
  }

  for (const sql of rows) {
    await em.execute(sql, [each]);
  }

  await em.execute('analyze');
  const [endpoint] = await em.execute<{ id: string }[]>(
    'select id from webhook_endpoints where workspace_id = ?',
    [workspaceId],
  );
  return endpoint?.id ?? '';
}

const account = {
  baseUrl: 'https://social.example',
  remoteId: 'me',
  handle: '@me',
  credentials: { token: 'none' },
  session: null,
  settings: {},
};

const minutesAgo = `now() - n * interval '1 minute'`;
const rows = [
  `insert into posts (id, workspace_id, body, status, published_at, created_at, updated_at)
   select gen_random_uuid(), w.id, 'x', (array['draft', 'published', 'failed'])[1 + n % 3],
     case when n % 3 = 1 then at end, at, at
   from workspaces w, generate_series(1, ?::int) n, lateral (select ${minutesAgo} as at) t`,
  `insert into post_channels (id, workspace_id, post_id, channel_id, position, status, metrics, published_at)
   select gen_random_uuid(), p.workspace_id, p.id, c.id, 0, p.status, '{"likes": 1}', p.published_at
   from posts p join channels c on c.workspace_id = p.workspace_id where ?::int > 0`,
  `insert into media_files (id, workspace_id, name, type, size_bytes, storage_key, link_token, created_at)
   select gen_random_uuid(), w.id, n || '.png', 'image/png', 1, gen_random_uuid(), gen_random_uuid(), ${minutesAgo}
   from workspaces w, generate_series(1, ?::int) n`,
  `insert into webhook_endpoints (id, workspace_id, url, events, sealed_secret, secret_hint, created_at)
   select gen_random_uuid(), w.id, 'https://example.com/' || n, '["post.failed"]', 'x', 'x', now()
   from workspaces w, generate_series(1, least(?::int, 1)) n`,
  `with new as (
     insert into events (id, workspace_id, type, body, created_at)
     select gen_random_uuid(), w.id, 'post.failed', '{}', ${minutesAgo}
     from workspaces w, generate_series(1, ?::int) n
     returning *
   )
   insert into deliveries (id, workspace_id, endpoint_id, event_id, status, created_at)
   select gen_random_uuid(), e.workspace_id, e.id, new.id, 'failed', new.created_at
   from new join webhook_endpoints e on e.workspace_id = new.workspace_id`,
  `insert into delivery_attempts (id, workspace_id, delivery_id, number, created_at, duration_ms)
   select gen_random_uuid(), workspace_id, id, n, created_at, 5 from deliveries, generate_series(1, least(?::int, 1)) n`,
];
