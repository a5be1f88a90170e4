import type { ChannelErrorCode } from '../../domain/channel-error.ts';
import type { ChannelStatus } from '../../domain/post-status.ts';
import type { ActivityDeps } from '../deps.ts';

export type PublishRequest = {
  readonly workspaceId: string;
  readonly postId: string;
  readonly postChannelId: string;
};

/** All that a try needs to know of its post and its channel, read afresh at each try. */
export type PublishTarget = {
  readonly workspaceId: string;
  readonly postId: string;
  readonly postChannelId: string;
  readonly channelId: string;
  readonly platform: string;
  readonly run: number;
  /** How often this channel was tried in this run, waits imposed by rate limits not counted. */
  readonly tries: number;
  readonly dueAt: Date;
  readonly status: ChannelStatus;
  readonly errorCode: ChannelErrorCode | null;
  /** What goes out, in order; one text for a single post. */
  readonly texts: readonly string[];
  readonly parkedUntil: Date | null;
};

type Row = {
  channel_id: string;
  platform: string;
  run: number;
  tries: number;
  scheduled_at: string | Date | null;
  status: ChannelStatus;
  error_code: ChannelErrorCode | null;
  override: string | null;
  body: string | null;
  thread: readonly string[] | null;
  parked_until: string | Date | null;
};

/** @returns null when the post or the channel is gone, or has no time. */
export async function loadTarget(
  deps: ActivityDeps,
  request: PublishRequest,
): Promise<PublishTarget | null> {
  const { workspaceId, postId, postChannelId } = request;
  const [row] = await deps.orm.em.fork().execute<Row[]>(
    `select pc.channel_id, c.platform, p.run, pc.tries, p.scheduled_at, pc.status, pc.error_code,
       pc.body as override, p.body, p.thread, c.parked_until
     from post_channels pc
     join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id
     join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
     where pc.id = ? and pc.post_id = ? and pc.workspace_id = ?`,
    [postChannelId, postId, workspaceId],
  );
  if (!row) {
    return null;
  }

  return {
    workspaceId,
    postId,
    postChannelId,
    channelId: row.channel_id,
    platform: row.platform,
    run: row.run,
    tries: row.tries,
    // A post that was cancelled meanwhile has no time any more; its channels are drafts and are not tried.
    dueAt: new Date(row.scheduled_at ?? 0),
    status: row.status,
    errorCode: row.error_code,
    texts: row.override === null ? (row.thread ?? [row.body ?? '']) : [row.override],
    parkedUntil: row.parked_until === null ? null : new Date(row.parked_until),
  };
}
