import type { Em } from '../../db/orm.ts';
import type { PartState } from '../../db/ledger/part-states.ts';
import type { FindKind } from '../../db/entities/sweep-find.ts';
import type { OperatedPost } from './operated.ts';

type Time = string | Date;

export type PostRow = {
  readonly id: string;
  readonly workspace_id: string;
  readonly status: string;
  readonly body: string | null;
  readonly thread: readonly string[] | null;
  readonly files: number;
  readonly scheduled_at: Time | null;
  readonly retried_at: Time | null;
  readonly created_at: Time;
  readonly updated_at: Time;
  readonly published_at: Time | null;
  readonly revision: number;
  readonly synced_revision: number;
  readonly run: number;
};

export type ChannelRow = {
  readonly id: string;
  readonly channel_id: string;
  readonly platform: string;
  readonly handle: string;
  /** Of the connected account. */
  readonly state: string;
  /** Until when a rate limit holds, or held, the account or its server. */
  readonly parked_until: Time | null;
  readonly status: string;
  readonly url: string | null;
  readonly error: string | null;
  readonly error_code: string | null;
  readonly retry_at: Time | null;
  readonly tries: number;
  readonly published_at: Time | null;
  readonly settled_at: Time | null;
};

export type LedgerRow = {
  readonly post_channel_id: string;
  readonly part: number;
  readonly run: number;
  readonly state: PartState;
  readonly url: string | null;
  readonly sending_at: Time | null;
  readonly created_at: Time;
  readonly updated_at: Time;
};

export type EventRow = {
  readonly id: string;
  readonly type: string;
  readonly run: number;
  readonly created_at: Time;
};

export type DeliveryRow = {
  readonly id: string;
  readonly event_id: string;
  readonly endpoint_id: string;
  readonly status: string;
  readonly round: number;
  readonly synced_round: number;
  readonly next_attempt_at: Time | null;
};

export type DeliveryAttemptRow = {
  readonly delivery_id: string;
  readonly number: number;
  readonly created_at: Time;
  readonly response_status: number | null;
  readonly error: string | null;
};

export type FindRow = {
  readonly kind: FindKind;
  readonly delivery_id: string | null;
  readonly found_at: Time;
};

/** All that the database knows of a post. */
export type StoryRows = {
  readonly post: PostRow;
  readonly channels: readonly ChannelRow[];
  readonly ledger: readonly LedgerRow[];
  readonly events: readonly EventRow[];
  readonly deliveries: readonly DeliveryRow[];
  readonly attempts: readonly DeliveryAttemptRow[];
  readonly finds: readonly FindRow[];
};

/** Reads it as it was at one moment. */
export async function loadStory(
  em: Em,
  { workspaceId, postId }: OperatedPost,
): Promise<StoryRows | null> {
  return em.transactional(async (tx): Promise<StoryRows | null> => {
    await tx.execute('set transaction isolation level repeatable read read only');
    const read = <Row>(sql: string): Promise<Row[]> =>
      tx.execute<Row[]>(sql, [postId, workspaceId]);
    const [post] = await read<PostRow>(posts);
    return post
      ? {
          post,
          channels: await read(channels),
          ledger: await read(ledger),
          events: await read(events),
          deliveries: await read(deliveries),
          attempts: await read(attempts),
          finds: await read(finds),
        }
      : null;
  });
}

const posts = `
  select id, workspace_id, status, body, thread, scheduled_at, retried_at, created_at, updated_at, published_at,
    revision, synced_revision, run, (select count(*)::int from post_media m
      where m.post_id = p.id and m.workspace_id = p.workspace_id) as files
  from posts p where id = ? and workspace_id = ?`;

const channels = `
  select pc.id, pc.channel_id, c.platform, c.handle, c.state, pc.status, pc.url, pc.error, pc.error_code,
    pc.retry_at, pc.tries, pc.published_at, pc.settled_at,
    greatest(c.parked_until, (select max(n.parked_until) from network_parks n
      where n.platform = c.platform and n.base_url in (c.base_url, ''))) as parked_until
  from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
  where pc.post_id = ? and pc.workspace_id = ? order by pc.position`;

const ledger = `
  select a.post_channel_id, a.part, a.run, a.state, a.url, a.sending_at, a.created_at, a.updated_at
  from post_parts a
  join post_channels pc on pc.id = a.post_channel_id and pc.workspace_id = a.workspace_id
  where pc.post_id = ? and pc.workspace_id = ? order by a.run, a.part`;

const events = `
  select id, type, run, created_at from events where post_id = ? and workspace_id = ? order by run`;

const deliveries = `
  select d.id, d.event_id, d.endpoint_id, d.status, d.round, d.synced_round, d.next_attempt_at
  from deliveries d join events e on e.id = d.event_id and e.workspace_id = d.workspace_id
  where e.post_id = ? and e.workspace_id = ? order by d.id`;

const attempts = `
  select a.delivery_id, a.number, a.created_at, a.response_status, a.error
  from delivery_attempts a
  join deliveries d on d.id = a.delivery_id and d.workspace_id = a.workspace_id
  join events e on e.id = d.event_id and e.workspace_id = d.workspace_id
  where e.post_id = ? and e.workspace_id = ? and not a.under_way order by a.created_at`;

const finds = `
  select f.kind, f.delivery_id, f.found_at from sweep_finds f
  left join deliveries d on d.id = f.delivery_id and d.workspace_id = f.workspace_id
  left join events e on e.id = d.event_id and e.workspace_id = d.workspace_id
  where coalesce(f.post_id, e.post_id) = ? and f.workspace_id = ? order by f.found_at`;
