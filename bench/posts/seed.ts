import { newId } from '../../db/new-id.ts';
import type { Orm } from '../../db/orm.ts';
import { credentialsPurpose, sessionPurpose } from '../../db/sealing-purposes.ts';
import type { Account } from '../../networks/network.ts';
import type { Sealer } from '../../runtime/secrets.ts';
import { insertRows } from '../runner/seed-posts.ts';
import type { PostToSync } from '../../domain/to-sync.ts';

/** An account of a sandbox, with its network's name. */
export type SandboxAccount = { readonly platform: string; readonly account: Account };

type Plan = {
  readonly posts: number;
  readonly channels: number;
  readonly dueAt: Date;
  readonly accounts: readonly SandboxAccount[];
};

/**
 * Stores posts as if this many users had scheduled one each: every post has its own workspace and channels.
 *
 * Inserts rows in bulk, since the API would take most of the bench's time. The bench then syncs them one by one with
 * the function that the API calls after its commit. The rows are stored as synced, so that the worker's relay does not
 * sync them too.
 */
export async function seedPosts(orm: Orm, sealer: Sealer, plan: Plan): Promise<PostToSync[]> {
  const { posts, dueAt } = plan;
  const rows: readonly Rows[] = Array.from({ length: posts }, (_, index) =>
    rowsOf(sealer, plan, index),
  );
  const em = orm.em.fork();
  for (const { table, columns } of tables) {
    const ofTable = rows.flatMap((row) => row[table]);
    await insertRows(em, { table, columns }, ofTable);
  }

  return rows.map(({ workspaceId, postId }) => ({
    workspaceId,
    postId,
    status: 'scheduled',
    revision: 1,
    dueAt: dueAt.toISOString(),
  }));
}

const tables = [
  { table: 'workspaces', columns: 'id, name, plan, created_at' },
  {
    table: 'channels',
    columns:
      'id, workspace_id, platform, handle, remote_id, base_url, sealed_credentials, sealed_session, state, settings, created_at, updated_at',
  },
  {
    table: 'posts',
    columns:
      'id, workspace_id, body, scheduled_at, status, revision, synced_revision, run, created_at, updated_at',
  },
  {
    table: 'post_channels',
    columns: 'id, workspace_id, post_id, channel_id, position, status, tries',
  },
] as const;

type Rows = Readonly<Record<(typeof tables)[number]['table'], readonly object[]>> & {
  readonly workspaceId: string;
  readonly postId: string;
};

function rowsOf(sealer: Sealer, { channels, dueAt, accounts }: Plan, index: number): Rows {
  const now = new Date();
  const times = { created_at: now, updated_at: now };
  const workspaceId = newId();
  const postId = newId();
  const ofWorkspace = { workspace_id: workspaceId, ...times };
  const connected = Array.from({ length: channels }, (_, position) =>
    channelOf(sealer, accounts[(index + position) % accounts.length]),
  );
  return {
    workspaceId,
    postId,
    workspaces: [{ id: workspaceId, name: `User ${index}`, plan: 'standard', ...times }],
    channels: connected.map((channel) => Object.assign(channel, ofWorkspace)),
    posts: [
      {
        id: postId,
        ...ofWorkspace,
        body: `Post ${index} of the benchmark, about as long as posts are. ${'So it goes. '.repeat(8)}`,
        scheduled_at: dueAt,
        status: 'scheduled',
        revision: 1,
        synced_revision: 1,
        run: 1,
      },
    ],
    post_channels: connected.map(({ id }, position) => ({
      id: newId(),
      workspace_id: workspaceId,
      post_id: postId,
      channel_id: id,
      position,
      status: 'scheduled',
      tries: 0,
    })),
  };
}

function channelOf(sealer: Sealer, found: SandboxAccount | undefined) {
  if (!found) {
    throw new Error('No sandbox account is available.');
  }

  const { platform, account } = found;
  const { credentials, session, handle, remoteId, baseUrl, settings } = account;
  const id = newId();
  return {
    id,
    platform,
    handle,
    remote_id: remoteId,
    base_url: baseUrl,
    sealed_credentials: sealer.seal(JSON.stringify(credentials), credentialsPurpose(id)),
    sealed_session:
      session === null ? null : sealer.seal(JSON.stringify(session), sessionPurpose(id)),
    state: 'connected',
    settings,
  };
}
