import type { ChannelErrorCode } from '../../domain/channel-error.ts';
import type { ChannelStatus } from '../../domain/post-status.ts';
import { textsForChannel } from '../../domain/texts-for-channel.ts';
import type { PartMedia } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import { loadMedia } from './load-media.ts';

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
  /** Of the post when its texts and files were read. */
  readonly revision: number;
  /** How often this channel was tried in this run, waits imposed by rate limits not counted. */
  readonly tries: number;
  /** From when the channel has a day: the post's time, or that of the last retry. */
  readonly dueAt: Date;
  readonly status: ChannelStatus;
  readonly errorCode: ChannelErrorCode | null;
  /** What goes out, in order; one text for a single post. */
  readonly texts: readonly string[];
  /** The files of the first text. */
  readonly media: readonly PartMedia[];
  readonly parkedUntil: Date | null;
};

type Row = {
  channel_id: string;
  platform: string;
  run: number;
  revision: number;
  tries: number;
  due_at: string | Date | null;
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
    `select pc.channel_id, c.platform, p.run, p.revision, pc.tries, coalesce(p.retried_at, p.scheduled_at) as due_at, pc.status, pc.error_code,
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

  const threads = deps.networks[row.platform]?.rules.threads ?? true;
  const texts = textsForChannel(row, row.override, threads);
  return {
    workspaceId,
    postId,
    postChannelId,
    channelId: row.channel_id,
    platform: row.platform,
    run: row.run,
    revision: row.revision,
    tries: row.tries,
    // A post that was cancelled meanwhile has no time any more; what had begun goes on.
    dueAt: row.due_at === null ? deps.now() : new Date(row.due_at),
    status: row.status,
    errorCode: row.error_code,
    texts: texts.length > 0 ? texts : [''],
    media: await loadMedia(deps, request),
    parkedUntil: row.parked_until === null ? null : new Date(row.parked_until),
  };
}
