import { sql, type RawBuilder } from 'kysely';
import { isFailedOrUnconfirmed, isOpenChannel, shownStatus } from '../../../db/channel-status.ts';
import { countLatePosts, type LatePosts } from '../../../db/late-posts.ts';
import type { Em } from '../../../db/orm.ts';
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

type PostRow = {
  id: string;
  workspace_id: string;
  status: PostStatus;
  due_at: Date | null;
  updated_at: Date;
  /** Of all its channels. */
  statuses: ShownChannelStatus[];
};

type ChannelRow = {
  post_id: string;
  channel_id: string;
  platform: string;
  handle: string;
  status: ChannelStatus;
  error_code: ChannelErrorCode | null;
  error: string | null;
  retry_at: Date | null;
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
    overdue: toggle('Those that are overdue by 30 s'),
    failed: toggle('Those that failed'),
    unconfirmed: toggle('Those with an unconfirmed channel'),
    workspace: text('Only of this workspace', 'WORKSPACE_ID'),
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

    const ofWorkspace =
      workspaceId === undefined ? sql`` : sql`and p.workspace_id = ${workspaceId}`;
    const found = await query(
      em,
      sql<PostRow>`
      select p.id, p.workspace_id, p.status, ${due} as due_at, p.updated_at,
        array(select ${shownStatus} from post_channels pc where pc.post_id = p.id and pc.workspace_id = p.workspace_id) as statuses
      from posts p
      where ${kind.posts(at)} ${ofWorkspace} order by ${kind.order} limit ${limit + 1}`,
    );
    const rows = found.slice(0, limit);
    const hasMore = found.length > limit;
    const channels = await channelsOf(em, kind, rows);
    const posts = rows.map((row) => view(row, channels.get(row.id) ?? []));
    const lines = posts.map((post) => lineOf(post, at.getTime()));
    const end = hasMore
      ? `\nThere are more: use --limit ${Math.min(9999, limit * 10)}, or --workspace for one workspace.`
      : '';
    const late =
      kind === kinds.overdue && lines.length > 0
        ? await countLatePosts(em, {
            now: sql<Date>`${at}::timestamptz`,
            lateByMs: overdueMs,
            workspaceId,
          })
        : null;
    return {
      text: lines.length === 0 ? kind.nothing : lines.join('\n') + end + (late ? totals(late) : ''),
      data: { posts, has_more: hasMore, ...(late && { late }) },
    };
  },
});

/** The number of all overdue posts, and of their channels by reason. */
const totals = ({ posts, oldest_seconds: oldest, channels }: LatePosts): string =>
  [
    `\nOverdue posts: ${posts}, the oldest due ${distance(-(oldest ?? 0) * 1000)}.`,
    ...channels.map(
      ({ reason, code, platform, channels: many, oldest_seconds: seconds }) =>
        `    ${[reason, code, platform].filter(Boolean).join(' ')}: ${many}, the oldest due ${distance(-seconds * 1000)}`,
    ),
  ].join('\n');

async function channelsOf(
  em: Em,
  kind: Kind,
  posts: readonly PostRow[],
): Promise<Map<string, ChannelRow[]>> {
  const rows = posts.length
    ? await query(
        em,
        sql<ChannelRow>`
          select pc.post_id, pc.channel_id, c.platform, c.handle, pc.status, pc.error_code, pc.error, pc.retry_at
          from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
          where pc.post_id = any(${posts.map(({ id }) => id)}) and ${kind.channels} order by pc.position`,
      )
    : [];
  return Map.groupBy(rows, (row) => row.post_id);
}

const view = (post: PostRow, channels: readonly ChannelRow[]) => ({
  id: post.id,
  workspace_id: post.workspace_id,
  status: post.status,
  outcome: outcomeOf(post.status, post.statuses),
  due_at: post.due_at?.toISOString() ?? null,
  updated_at: post.updated_at.toISOString(),
  channels: channels.map(({ post_id: _post, retry_at: at, ...row }) => ({
    ...row,
    retry_at: at?.toISOString() ?? null,
  })),
});

type PostLine = ReturnType<typeof view>;

const nextAttempt = (at: string, nowMs: number): string =>
  Date.parse(at) > nowMs
    ? `next attempt ${at}`
    : `the next attempt was due ${distance(Date.parse(at) - nowMs)}`;

function lineOf(post: PostLine, nowMs: number): string {
  const { id, status, outcome, due_at: at, workspace_id: workspace } = post;
  const late = at === null ? '' : `, due ${at} (${distance(Date.parse(at) - nowMs)})`;
  const lines = post.channels.map((channel) =>
    [
      `    ${channel.channel_id}  ${channel.platform} ${oneLine(channel.handle)}: ${channel.status}`,
      // The error of an attempt that is over says nothing of the one under way.
      ...(channel.status === 'publishing'
        ? []
        : [
            channel.error_code ?? '',
            channel.retry_at === null ? '' : nextAttempt(channel.retry_at, nowMs),
            beginning(channel.error ?? '', 240),
          ]),
    ]
      .filter(Boolean)
      .join('  '),
  );
  return [`${id}  ${outcome ?? status}${late}  workspace ${workspace}`, ...lines].join('\n');
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** Formats the distance from now: `3 h ago`, `in 12 min`. @param ms Milliseconds from now. */
const distance = (ms: number): string => (ms > 0 ? `in ${roughly(ms)}` : `${roughly(ms)} ago`);

/** Formats a duration: `3 h`, `12 min`. @param ms Milliseconds, also negative. */
function roughly(ms: number): string {
  const length = Math.abs(ms);
  const [unit, size] = units.find(([, least]) => length >= least) ?? ['s', 1000];
  return `${Math.floor(length / size)} ${unit}`;
}
