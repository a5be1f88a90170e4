import { createWorkspace } from '../../cli/workspaces.ts';
import { connectChannel } from '../../cli/channels.ts';
import type { Whole } from './start-whole.ts';

type Stores = Pick<Whole, 'orm' | 'sealer'>;

export type WorkspacePlan = {
  /** Also the beginning of each text. */
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

/** Makes a workspace with channels, which take any token. */
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
 * Makes a workspace with scheduled posts, on its channels in turn, of which Temporal has not heard. Rows come from SQL,
 * since there are thousands.
 *
 * @param dueAtMs When each is due, in milliseconds since 1970.
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

/** Not in the outbox: the bench tells of them itself, in its own time. */
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
