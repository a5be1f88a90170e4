import { sql, type RawBuilder } from 'kysely';
import { isFailedOrUnconfirmed, isOpenChannel, shownStatus } from '../../../db/channel-status.ts';
import { countLatePosts, type LatePosts } from '../../../db/late-posts.ts';
import { dueAt, isOpenPost } from '../../../db/post-status.ts';
import { query } from '../../../db/query.ts';
import type { ChannelErrorCode } from '../../../domain/channel-error.ts';
import {
  outcomeOf,
  type ChannelStatus,
  type PostStatus,
  type ShownChannelStatus,
} from '../../../domain/statuses.ts';
import { UsageError } from '../../failures.ts';
import { count, text, toggle } from '../../flags.ts';
import { adminCommand } from '../command.ts';
import { beginning, oneLine } from '../../table.ts';
import { assertWorkspaceExists } from '../workspaces.ts';

type ChannelRow = {
  readonly channel_id: string;
  readonly platform: string;
  readonly handle: string;
  readonly status: ChannelStatus;
  readonly error_code: ChannelErrorCode | null;
  readonly error: string | null;
  readonly retry_at: string | null;
};

type PostRow = {
  readonly id: string;
  readonly workspace_id: string;
  readonly status: PostStatus;
  readonly due_at: Date | null;
  readonly updated_at: Date;
  /** The statuses of all its channels. */
  readonly statuses: readonly ShownChannelStatus[];
  /** The affected ones. */
  readonly channels: readonly ChannelRow[];
};

type Kind = {
  /** Conditions on the post `p` and its channels `pc`. */
  readonly posts: (now: Date) => RawBuilder<boolean>;
  readonly channels: RawBuilder<boolean>;
  readonly order: RawBuilder<unknown>;
  readonly nothing: string;
};

/** A due post begins within a second. A delay above this, in milliseconds, is listed. */
const overdueMs = 30_000;

const due = dueAt('p');

const kinds: Readonly<Record<'overdue' | 'failed' | 'unconfirmed', Kind>> = {
  overdue: {
    posts: (now) => sql`${isOpenPost('p')} and ${due} < ${new Date(now.getTime() - overdueMs)}`,
    channels: isOpenChannel,
    order: sql`${due}, p.id`,
    nothing: 'No post is overdue.',
  },
  failed: {
    posts: () => sql`p.status = 'failed'`,
    channels: isFailedOrUnconfirmed,
    order: sql`p.updated_at desc, p.id desc`,
    nothing: 'No post has failed.',
  },
  unconfirmed: {
    posts: () =>
      sql`p.id in (select u.post_id from post_channels u where u.status = 'unconfirmed')`,
    channels: sql`pc.status = 'unconfirmed'`,
    order: sql`p.updated_at desc, p.id desc`,
    nothing: 'No channel is unconfirmed.',
  },
};

/** Lists posts that need attention, the most overdue or the most recently ended first. */
export const listPosts = adminCommand({
  brief:
    'Lists posts of all workspaces that are overdue by 30 s, have failed or have an unconfirmed channel',
  flags: {
    overdue: toggle('Only posts that are overdue by 30 s'),
    failed: toggle('Only posts that failed'),
    unconfirmed: toggle('Only posts with an unconfirmed channel'),
    workspace: text('Only posts of this workspace', 'WORKSPACE_ID'),
    limit: count('50 if omitted'),
  },
  oneOf: ['overdue', 'failed', 'unconfirmed'],
  run: async ({ em, now }, { overdue, failed, limit = 50, workspace: workspaceId }) => {
    const at = now();
    const kind = kinds[overdue ? 'overdue' : failed ? 'failed' : 'unconfirmed'];
    if (!Number.isInteger(limit) || limit < 1 || limit > 9999) {
      throw new UsageError(`--limit must be a whole number from 1 to 9999, not "${limit}".`);
    }

    if (workspaceId !== undefined) {
      await assertWorkspaceExists(em, workspaceId);
    }

    const found = await query(em, selectPosts(kind, at, workspaceId, limit + 1));
    const hasMore = found.length > limit;
    const posts = found.slice(0, limit).map(view);
    const of = { now: sql<Date>`${at}::timestamptz`, lateByMs: overdueMs, workspaceId };
    const late = kind === kinds.overdue && posts.length > 0 ? await countLatePosts(em, of) : null;
    const lines = [
      ...(posts.length === 0 ? [kind.nothing] : posts.map(textOf)),
      ...(hasMore ? ['There are more: give a higher --limit (up to 9999), or --workspace.'] : []),
      ...(late ? totals(late) : []),
    ];
    return { text: lines.join('\n'), data: { posts, has_more: hasMore, ...(late && { late }) } };
  },
});

/** The number of all overdue posts, and of their channels by reason. */
const totals = ({ posts, oldest_seconds: oldest, channels }: LatePosts): string[] => [
  `Overdue posts: ${posts}, the oldest by ${minutes(oldest ?? 0)}.`,
  ...channels.map(
    ({ reason, code, platform, channels: many, oldest_seconds: seconds }) =>
      `    ${[reason, code, platform].filter(Boolean).join(' ')}: ${many}, the oldest by ${minutes(seconds)}`,
  ),
];

const minutes = (seconds: number): string => `${Math.floor(seconds / 60)} min`;

const selectPosts = (kind: Kind, at: Date, workspaceId: string | undefined, most: number) =>
  sql<PostRow>`
    select p.id, p.workspace_id, p.status, ${due} as due_at, p.updated_at,
      array(select ${shownStatus} from post_channels pc where pc.post_id = p.id and pc.workspace_id = p.workspace_id) as statuses,
      array(
        select json_build_object('channel_id', pc.channel_id, 'platform', c.platform, 'handle', c.handle,
          'status', pc.status, 'error_code', pc.error_code, 'error', pc.error,
          'retry_at', to_char(pc.retry_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
        from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
        where pc.post_id = p.id and pc.workspace_id = p.workspace_id and ${kind.channels} order by pc.position
      ) as channels
    from posts p join workspaces w on w.id = p.workspace_id and w.deleted_at is null
    where ${kind.posts(at)} ${workspaceId === undefined ? sql`` : sql`and p.workspace_id = ${workspaceId}`}
    order by ${kind.order} limit ${most}`;

const view = ({ statuses, due_at: dueTime, updated_at: updatedAt, ...post }: PostRow) => ({
  ...post,
  outcome: outcomeOf(post.status, statuses),
  due_at: dueTime?.toISOString() ?? null,
  updated_at: updatedAt.toISOString(),
});

function textOf({ channels, ...post }: ReturnType<typeof view>): string {
  const dueTime = post.due_at === null ? '' : `, due ${post.due_at}`;
  const lines = channels.map(({ channel_id: id, platform, handle, status, ...row }) => {
    const error = [
      row.error_code,
      row.retry_at && `next attempt ${row.retry_at}`,
      beginning(row.error ?? '', 240),
    ];
    // The error of an attempt that is over says nothing of the one under way.
    const shown = status === 'publishing' ? [] : error.filter(Boolean);
    return [`    ${id}  ${platform} ${oneLine(handle)}: ${status}`, ...shown].join('  ');
  });
  const heading = `${post.id}  ${post.outcome ?? post.status}${dueTime}  workspace ${post.workspace_id}`;
  return [heading, ...lines].join('\n');
}
