import { IsolationLevel } from '@mikro-orm/core';
import { sql } from 'kysely';
import { shownStatus } from '../../../db/channel-status.ts';
import { partsOfPost, type RecordedPart } from '../../../db/ledger/parts.ts';
import type { Em } from '../../../db/orm.ts';
import { query } from '../../../db/query.ts';
import type { PostStatus, ShownChannelStatus } from '../../../domain/statuses.ts';
import type { Options } from '../../../networks/content-rules.ts';
import type { OperatedPost } from './lifecycle.ts';

export type PostRecordRow = {
  readonly id: string;
  readonly workspace_id: string;
  readonly status: PostStatus;
  readonly body: string | null;
  readonly thread: readonly string[] | null;
  readonly files: number;
  readonly scheduled_at: Date | null;
  readonly retried_at: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly published_at: Date | null;
  readonly revision: number;
  readonly synced_revision: number;
  readonly run: number;
};

export type ChannelRow = {
  readonly id: string;
  readonly channel_id: string;
  readonly platform: string;
  readonly handle: string;
  /** State of the connected account. */
  readonly state: string;
  /** End of a rate limit of the account or its server, also a past one. */
  readonly parked_until: Date | null;
  readonly status: ShownChannelStatus;
  readonly url: string | null;
  readonly error: string | null;
  readonly error_code: string | null;
  readonly retry_at: Date | null;
  readonly tries: number;
  readonly published_at: Date | null;
  readonly settled_at: Date | null;
  /** Warning from the post's creation or last edit. */
  readonly warning: string | null;
  /** Warning from the network after publishing. */
  readonly sent_warning: string | null;
  /** The channel's own text. */
  readonly own_text: string | null;
  readonly options: Options | null;
  /** The channel's defaults, for options that the post does not set. */
  readonly default_options: Options | null;
};

type EventRow = {
  readonly id: string;
  readonly type: string;
  /** Null except for a final event. */
  readonly run: number | null;
  readonly created_at: Date;
};

type DeliveryRow = {
  readonly id: string;
  readonly event_id: string;
  readonly endpoint_id: string;
  readonly status: string;
  readonly round: number;
  readonly synced_round: number;
  readonly next_attempt_at: Date | null;
};

type DeliveryAttemptRow = {
  readonly delivery_id: string;
  readonly number: number;
  readonly created_at: Date;
  readonly response_status: number | null;
  readonly error: string | null;
};

/** Everything that the database stores about a post. */
export type PostRecords = {
  readonly post: PostRecordRow;
  readonly channels: readonly ChannelRow[];
  readonly ledger: readonly RecordedPart[];
  readonly events: readonly EventRow[];
  readonly deliveries: readonly DeliveryRow[];
  readonly attempts: readonly DeliveryAttemptRow[];
};

/** Reads all records in one snapshot. */
export const loadRecords = (em: Em, of: OperatedPost): Promise<PostRecords | null> =>
  em.transactional(
    async (within) => {
      const [post] = await query(within, selectPost(of));
      return post
        ? {
            post,
            channels: await query(within, selectChannels(of)),
            ledger: await partsOfPost(within, of),
            events: await query(within, selectEvents(of)),
            deliveries: await query(within, selectDeliveries(of)),
            attempts: await query(within, selectAttempts(of)),
          }
        : null;
    },
    { isolationLevel: IsolationLevel.REPEATABLE_READ, readOnly: true },
  );

const selectPost = ({ workspaceId, postId }: OperatedPost) => sql<PostRecordRow>`
  select id, workspace_id, status, body, thread, scheduled_at, retried_at, created_at, updated_at, published_at,
    revision, synced_revision, run, (select count(*)::int from post_media m
      where m.post_id = p.id and m.workspace_id = p.workspace_id and m.part >= 0) as files
  from posts p where id = ${postId} and workspace_id = ${workspaceId}`;

const selectChannels = ({ workspaceId, postId }: OperatedPost) => sql<ChannelRow>`
  select pc.id, pc.channel_id, c.platform, c.handle, c.state, ${shownStatus} as status, pc.url, pc.error, pc.error_code,
    pc.retry_at, pc.tries, pc.published_at, pc.settled_at, pc.warning, pc.sent_warning, pc.body as own_text,
    pc.options, pc.defaults as default_options,
    c.parked_until
  from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
  join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id
  where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId} order by pc.position`;

const selectEvents = ({ workspaceId, postId }: OperatedPost) => sql<EventRow>`
  select id, type, run, created_at from events where post_id = ${postId} and workspace_id = ${workspaceId} order by created_at, id`;

const selectDeliveries = ({ workspaceId, postId }: OperatedPost) => sql<DeliveryRow>`
  select d.id, d.event_id, d.endpoint_id, d.status, d.round, d.synced_round, d.next_attempt_at
  from deliveries d join events e on e.id = d.event_id and e.workspace_id = d.workspace_id
  where e.post_id = ${postId} and e.workspace_id = ${workspaceId} order by d.id`;

const selectAttempts = ({ workspaceId, postId }: OperatedPost) => sql<DeliveryAttemptRow>`
  select a.delivery_id, a.number, a.created_at, a.response_status, a.error
  from delivery_attempts a
  join deliveries d on d.id = a.delivery_id and d.workspace_id = a.workspace_id
  join events e on e.id = d.event_id and e.workspace_id = d.workspace_id
  where e.post_id = ${postId} and e.workspace_id = ${workspaceId} order by a.created_at`;
