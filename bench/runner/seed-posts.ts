import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { connectChannel } from '../../services/channels/connect-channel.ts';
import { createWorkspace } from '../../cli/admin/workspaces.ts';
import type { Em, Orm } from '../../db/orm.ts';
import { syncPost } from '../../temporal/sync-post.ts';
import type { System } from './processes.ts';

type Stores = Pick<System, 'orm' | 'sealer'>;

export type WorkspacePlan = {
  /** Also the prefix of each text. */
  readonly name: string;
  readonly platform: string;
  readonly networkUrl: string;
  readonly channels: number;
};

export type SeededPost = {
  readonly workspaceId: string;
  readonly postId: string;
  readonly text: string;
  readonly dueAtMs: number;
};

/** Creates a workspace with channels that accept any token. */
export async function addChannels(
  { orm, sealer }: Stores,
  { name, platform, networkUrl, channels }: WorkspacePlan,
): Promise<{ workspaceId: string; channelIds: string[] }> {
  const em = orm.em.fork();
  const workspaceId = await createWorkspace(em, name);
  const channelIds: string[] = [];
  for (let number = 1; number <= channels; number += 1) {
    const account = {
      baseUrl: networkUrl,
      remoteId: `${name}-${number}`,
      handle: `@${name}-${number}`,
      credentials: { accessToken: 'none' },
      session: null,
      settings: {},
    };
    channelIds.push((await connectChannel(em, sealer, workspaceId, platform, account)).id);
  }

  return { workspaceId, channelIds };
}

/**
 * Creates a workspace with scheduled posts, alternating between its channels, without workflows. Inserts rows with SQL,
 * since there are thousands.
 *
 * @param dueAtMs Due time of each, in milliseconds since 1970.
 */
export async function seedPosts(
  stores: Stores,
  plan: WorkspacePlan,
  dueAtMs: readonly number[],
): Promise<SeededPost[]> {
  const { workspaceId, channelIds } = await addChannels(stores, plan);
  const em = stores.orm.em.fork();
  const times = JSON.stringify(dueAtMs.map((ms) => new Date(ms).toISOString()));
  const rows = await em.execute<Row[]>(insertPosts, [workspaceId, plan.name, times]);
  await em.execute(insertChannels, [JSON.stringify(channelIds), workspaceId]);
  return rows.map(({ id, body, scheduled_at: at }) => ({
    workspaceId,
    postId: id,
    text: body,
    dueAtMs: new Date(at).getTime(),
  }));
}

type Row = { readonly id: string; readonly body: string; readonly scheduled_at: string | Date };

/** Not in the outbox: the bench starts their workflows when it needs them. */
const insertPosts = `
  insert into posts (id, workspace_id, body, scheduled_at, status, synced_revision, created_at, updated_at)
  select uuidv7(), ?, ? || ' ' || n, at::timestamptz, 'scheduled', 1, now(), now()
  from jsonb_array_elements_text(?::jsonb) with ordinality as due(at, n) returning id, body, scheduled_at`;

const insertChannels = `
  insert into post_channels (id, workspace_id, post_id, channel_id, position, status)
  select uuidv7(), post.workspace_id, post.id, (channel.ids ->> (post.n % jsonb_array_length(channel.ids))::int)::uuid, 0, 'scheduled'
  from (select id, workspace_id, row_number() over (order by scheduled_at, id) as n from posts) as post,
    (select ?::jsonb as ids) as channel
  where post.workspace_id = ?`;

/** Concurrent starts: with more, a dev server answers none of them in time. */
const concurrency = 5;

/** Starts the workflows of posts like the API does, until Temporal has all of them. */
export async function syncPosts(
  client: Client,
  orm: Orm,
  posts: readonly SeededPost[],
): Promise<void> {
  const left = [...posts];
  const lane = async (): Promise<void> => {
    for (let post = left.shift(); post; post = left.shift()) {
      const { workspaceId, postId, dueAtMs } = post;
      const dueAt = new Date(dueAtMs).toISOString();
      const row = { workspaceId, postId, status: 'scheduled', revision: 1, dueAt };
      while (
        !(await syncPost(client, orm.em.fork(), row).then(
          () => true,
          () => false,
        ))
      ) {
        await sleep(500);
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
}

/** Inserts rows in one statement, since the API would take most of a bench's time. */
export async function insertRows(
  em: Em,
  { table, columns }: { readonly table: string; readonly columns: string },
  rows: readonly object[],
): Promise<void> {
  await em.execute(
    `insert into ${table} (${columns}) select ${columns} from jsonb_populate_recordset(null::${table}, ?::jsonb)`,
    [JSON.stringify(rows)],
  );
}
