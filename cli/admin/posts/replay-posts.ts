import { sql } from 'kysely';
import { retryPost } from '../../../services/posts/retry-post.ts';
import { isFailedOrUnconfirmed } from '../../../db/channel-status.ts';
import type { Em, Orm } from '../../../db/orm.ts';
import { dueAt, isOpenPost } from '../../../db/post-status.ts';
import { query } from '../../../db/query.ts';
import {
  channelErrors,
  type ChannelErrorCode,
  channelErrorCodes,
} from '../../../domain/channel-error.ts';
import { AppError } from '../../../domain/errors.ts';
import { lateSpacingMs } from '../../../domain/pacing.ts';
import { UsageError } from '../../failures.ts';
import type { Values } from '../../command.ts';
import { pastTime, required, text, toggle } from '../../flags.ts';
import { adminCommand, type CommandDeps } from '../command.ts';
import { assertWorkspaceExists } from '../workspaces.ts';
import { syncedSoon } from './lifecycle.ts';

/** Failures of an outage: a retry can help, also after an attempt was given up because it took a day. */
const ofOutages = channelErrorCodes.filter(
  (code) => channelErrors[code].canRetryLater || code === 'too_late',
);

/** Selects posts that ended in this time, with channels that failed for one of these reasons. */
type Window = {
  readonly since: Date;
  readonly until: Date | undefined;
  readonly codes: readonly ChannelErrorCode[];
  readonly workspaceId: string | undefined;
};

type FailedPost = {
  readonly postId: string;
  readonly workspaceId: string;
  readonly plan: string | null;
  /** Codes of its failed channels: the selected ones, and the others. */
  readonly retried: readonly string[];
  readonly leftOut: readonly string[];
  /** The channels to retry. */
  readonly channelIds: readonly string[];
};

/** The result for a post. @param said The reason when it was not retried. */
type Outcome = { readonly post: FailedPost; readonly failure: string | null };

const flags = {
  since: required(pastTime('2027-03-01T09:00:00Z, or how long ago it was, such as 2h')),
  until: pastTime('The same; now if omitted'),
  code: text('Only channels with this error_code', 'CODE'),
  workspace: text('Only of this workspace', 'WORKSPACE_ID'),
  dryRun: toggle('Only counts them'),
};

/** Limit of the listed posts in the text; the data has all. */
const listed = 50;

/**
 * Retries the failures of an outage: every post that ended in the window, on the channels whose failure a retry can
 * help, by due time and spaced per channel. Unconfirmed channels are never sent again. A second run skips the posts
 * that are already being retried.
 */
export const replayPosts = adminCommand({
  brief: 'Retries the posts that failed in an outage',
  flags,
  run: async (deps, { dryRun: isDry = false, ...given }) => {
    const window = await readWindow(deps.em, given);
    const outcomes: Outcome[] = [];
    const timeOf = spacing(deps.now());
    for await (const post of failedPosts(deps.orm, window)) {
      const failure =
        post.retried.length === 0 || isDry
          ? null
          : await retry(deps, post, window.codes, timeOf(post.channelIds));
      outcomes.push({ post, failure });
    }

    const { text: shown, data, ...end } = answer(outcomes, window, isDry);
    const open = window.until === undefined ? await countOpen(deps.em, window) : 0;
    const repeat = `${count(open, 'post')} with such a channel ${open === 1 ? 'is' : 'are'} still being sent to other channels: repeat this command when they have ended.`;
    return {
      text: open > 0 ? `${shown}\n${repeat}` : shown,
      data: { ...data, still_open: open },
      ...end,
    };
  },
});

/** Counts the posts that a later replay retries too. */
async function countOpen(em: Em, { codes, workspaceId }: Window): Promise<number> {
  const [row] = await query(
    em,
    sql<{ posts: number }>`
      select count(distinct p.id)::int as posts
      from posts p join post_channels pc on pc.post_id = p.id and pc.workspace_id = p.workspace_id
      where ${isOpenPost('p')} and pc.status = 'failed' and pc.error_code = any(${[...codes]})
        ${workspaceId === undefined ? sql`` : sql`and p.workspace_id = ${workspaceId}`}`,
  );
  return row?.posts ?? 0;
}

async function readWindow(
  em: Em,
  { since, until, code, workspace }: Omit<Values<typeof flags>, 'dryRun'>,
): Promise<Window> {
  if (until !== undefined && until <= since) {
    throw new UsageError('--until must be later than --since.');
  }

  if (workspace !== undefined) {
    await assertWorkspaceExists(em, workspace);
  }

  const codes = code === undefined ? ofOutages : [readCode(code)];
  return { since, until, codes, workspaceId: workspace };
}

function readCode(given: string): ChannelErrorCode {
  if (given === 'unconfirmed') {
    throw new UsageError(
      'An unconfirmed channel may have the post, and is never sent again: check the account, then use "post settle".',
    );
  }

  const code = channelErrorCodes.find((known) => known === given);
  if (code === undefined) {
    throw new UsageError(`--code must be one of ${channelErrorCodes.join(', ')}; not "${given}".`);
  }

  return code;
}

/**
 * Spaces the retries. Pacing applies to overdue posts only, and a retry is due at its own time: a thousand retries
 * would be sent at once.
 *
 * @returns a function that gives each post a time, spaced on each of its channels as overdue posts are.
 */
function spacing(now: Date): (channelIds: readonly string[]) => Date {
  const nextMs = new Map<string, number>();
  return (channelIds) => {
    const atMs = Math.max(now.getTime(), ...channelIds.map((id) => nextMs.get(id) ?? 0));
    for (const id of channelIds) {
      nextMs.set(id, atMs + lateSpacingMs);
    }

    return new Date(atMs);
  };
}

/** @param at When the post is sent. @returns null when it is retried; otherwise the reason. */
async function retry(
  { orm, now }: CommandDeps,
  { postId, workspaceId, plan }: FailedPost,
  codes: readonly ChannelErrorCode[],
  at: Date,
): Promise<string | null> {
  try {
    const caller = { workspaceId, plan };
    await retryPost({ orm, now }, caller, postId, { only: codes, at });
    return null;
  } catch (error) {
    if (error instanceof AppError && error.code !== 'unavailable') {
      return error.message; // Already retried, a file was deleted, or there is no plan. The other posts continue.
    }

    throw error;
  }
}

function answer(outcomes: readonly Outcome[], window: Window, isDry: boolean) {
  const retried = outcomes.filter(
    ({ post, failure }) => post.retried.length > 0 && failure === null,
  );
  const refused = outcomes.filter(({ failure }) => failure !== null);
  const leftOut = outcomes.flatMap(({ post }) => post.leftOut);
  const word = isDry ? 'would be' : 'are being';
  const lines = [
    `${count(retried.length, 'post')} ${word} sent again${codesOf(retried.flatMap(({ post }) => post.retried))}.`,
    ...retried.slice(0, listed).map(({ post }) => line(post, post.retried.join(', '))),
    ...(retried.length > listed ? [`  … and ${retried.length - listed} more.`] : []),
    ...(refused.length > 0 ? [`${count(refused.length, 'post')} could not be sent again:`] : []),
    ...refused.slice(0, listed).map(({ post, failure }) => line(post, failure ?? '')),
    ...(leftOut.length > 0
      ? [`Left out: ${count(leftOut.length, 'channel')}${codesOf(leftOut)}.`]
      : []),
    ...(leftOut.length > 0 ? [whyLeftOut] : []),
    ...(isDry || retried.length === 0 ? [] : [syncedSoon]),
  ];
  const view = ({ post, failure }: Outcome) => ({
    post_id: post.postId,
    workspace_id: post.workspaceId,
    codes: post.retried,
    left_out: post.leftOut,
    error: failure,
  });
  return {
    text: lines.join('\n'),
    data: {
      dry_run: isDry,
      since: window.since.toISOString(),
      until: window.until?.toISOString() ?? null,
      retried: retried.map(view),
      refused: refused.map(view),
      left_out: outcomes.filter(({ post }) => post.leftOut.length > 0).map(view),
    },
    failed: refused.length > 0,
  };
}

const whyLeftOut =
  'A retry alone does not help these. --code CODE retries one kind, but never an unconfirmed channel: see "post list --unconfirmed".';

const line = ({ postId, workspaceId }: FailedPost, what: string): string =>
  `  ${postId}  workspace ${workspaceId}  ${what}`;

const count = (number: number, what: string): string =>
  `${number} ${what}${number === 1 ? '' : 's'}`;

/** Formats how often each code occurs: ` (rate_limited 2, too_late 1)`. */
function codesOf(codes: readonly string[]): string {
  const groups = Map.groupBy(codes, (code) => code);
  const counted = [...groups].map(([code, all]) => `${code} ${all.length}`);
  return counted.length === 0 ? '' : ` (${counted.join(', ')})`;
}

type FailedRow = { id: string; workspace_id: string; plan: string | null };
type ChannelRow = { post_id: string; channel_id: string; code: string };

/** Posts per query. */
const pageSize = 500;

/**
 * Yields the failed posts by due time. All are selected before the first retry, so that a post that fails again is not
 * retried twice.
 */
async function* failedPosts(orm: Orm, window: Window): AsyncGenerator<FailedPost> {
  const { since, until, workspaceId } = window;
  const em = orm.em.fork();
  const posts = await query(
    em,
    sql<FailedRow>`
      select p.id, p.workspace_id, w.plan from posts p join workspaces w on w.id = p.workspace_id
      where p.status = 'failed' and p.updated_at >= ${since} ${until === undefined ? sql`` : sql`and p.updated_at < ${until}`}
        ${workspaceId === undefined ? sql`` : sql`and p.workspace_id = ${workspaceId}`}
      order by ${dueAt('p')}, p.id`,
  );
  for (let from = 0; from < posts.length; from += pageSize) {
    const page = posts.slice(from, from + pageSize);
    const channels = await failedChannels(em, page);
    for (const { id, workspace_id: owner, plan } of page) {
      const failed = channels.get(id) ?? [];
      const codes = failed.map(({ code }) => code);
      const isAsked = (code: string): boolean => window.codes.some((asked) => asked === code);
      yield {
        postId: id,
        workspaceId: owner,
        plan,
        retried: codes.filter(isAsked),
        leftOut: codes.filter((code) => !isAsked(code)),
        channelIds: failed.filter(({ code }) => isAsked(code)).map((row) => row.channel_id),
      };
    }
  }
}

async function failedChannels(
  em: Em,
  posts: readonly FailedRow[],
): Promise<Map<string, ChannelRow[]>> {
  const rows = await query(
    em,
    sql<ChannelRow>`
      select post_id, channel_id, coalesce(error_code, 'internal') as code from post_channels pc
      where post_id = any(${posts.map(({ id }) => id)}) and ${isFailedOrUnconfirmed} order by position`,
  );
  return Map.groupBy(rows, (row) => row.post_id);
}
