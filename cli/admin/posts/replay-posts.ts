import { sql, type RawBuilder } from 'kysely';
import { retryPost } from '../../../services/posts/retry-post.ts';
import { isFailedOrUnconfirmed } from '../../../db/channel-status.ts';
import type { Em } from '../../../db/orm.ts';
import { dueAt } from '../../../db/post-status.ts';
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
import { oneOf, pastTime, required, text, toggle } from '../../flags.ts';
import { adminCommand, type CommandDeps } from '../command.ts';
import { assertWorkspaceExists } from '../workspaces.ts';
import { syncedSoon } from './lifecycle.ts';

/** Failures of an outage: a retry can help, also after an attempt was given up because it took a day. */
const ofOutages = channelErrorCodes.filter(
  (code) => channelErrors[code].canRetryLater || code === 'too_late',
);

/** Posts that ended in this time, with channels that failed for one of these reasons. */
type Window = {
  readonly since: Date;
  readonly until: Date | undefined;
  readonly codes: readonly ChannelErrorCode[];
  readonly workspaceId: string | undefined;
};

type FailedPost = {
  readonly post_id: string;
  readonly workspace_id: string;
  readonly plan: string | null;
  /** Codes of its failed channels: the selected ones, and the others. */
  readonly codes: readonly string[];
  readonly left_out: readonly string[];
  /** The channels to retry. */
  readonly channel_ids: readonly string[];
};

/** `failure` says why it was not retried. */
type Outcome = { readonly post: FailedPost; readonly failure: string | null };

const flags = {
  since: required(pastTime('2027-03-01T09:00:00Z, or how long ago it was, such as 2h')),
  until: pastTime('The same; now if omitted'),
  code: oneOf(
    channelErrorCodes.filter((code) => code !== 'unconfirmed'),
    'Only channels with this error_code; unconfirmed ones may be live, and are never sent again',
  ),
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
    // All are selected before the first retry, so that a post that fails again is not retried twice.
    for (const post of await failedPosts(deps.em, window)) {
      const failure =
        post.codes.length === 0 || isDry
          ? null
          : await retry(deps, post, window.codes, timeOf(post.channel_ids));
      outcomes.push({ post, failure });
    }

    return answer(outcomes, window, isDry);
  },
});

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

  return { since, until, codes: code ? [code] : ofOutages, workspaceId: workspace };
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
  { post_id: postId, workspace_id: workspaceId, plan }: FailedPost,
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
  const retried = outcomes.filter(({ post, failure }) => post.codes.length > 0 && failure === null);
  const refused = outcomes.filter(({ failure }) => failure !== null);
  const leftOut = outcomes.flatMap(({ post }) => post.left_out);
  const word = isDry ? 'would be' : 'are being';
  const lines = [
    `Posts that ${word} sent again: ${retried.length}${codesOf(retried.flatMap(({ post }) => post.codes))}.`,
    ...listing(retried, ({ post }) => post.codes.join(', ')),
    ...(refused.length > 0 ? [`Posts that could not be sent again: ${refused.length}`] : []),
    ...listing(refused, ({ failure }) => failure ?? ''),
    ...(leftOut.length > 0
      ? [`Channels that are left out: ${leftOut.length}${codesOf(leftOut)}. ${whyLeftOut}`]
      : []),
    ...(isDry || retried.length === 0 ? [] : [syncedSoon]),
  ];
  const view = ({ post: { plan: _plan, channel_ids: _ids, ...post }, failure }: Outcome) => ({
    ...post,
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
      left_out: outcomes.filter(({ post }) => post.left_out.length > 0).map(view),
    },
    failed: refused.length > 0,
  };
}

const whyLeftOut =
  'A retry alone does not help these. --code CODE retries one kind, but never an unconfirmed channel: see "post list --unconfirmed".';

const listing = (some: readonly Outcome[], what: (one: Outcome) => string): string[] => [
  ...some
    .slice(0, listed)
    .map((one) => `  ${one.post.post_id}  workspace ${one.post.workspace_id}  ${what(one)}`),
  ...(some.length > listed ? [`  … and ${some.length - listed} more.`] : []),
];

/** Formats how often each code occurs: ` (rate_limited 2, too_late 1)`. */
function codesOf(codes: readonly string[]): string {
  const groups = Map.groupBy(codes, (code) => code);
  const counted = [...groups].map(([code, all]) => `${code} ${all.length}`);
  return counted.length === 0 ? '' : ` (${counted.join(', ')})`;
}

/** The failed posts by due time. */
function failedPosts(em: Em, { since, until, workspaceId, codes }: Window): Promise<FailedPost[]> {
  const code = sql`coalesce(pc.error_code, 'internal')`;
  const ofChannels = (what: RawBuilder<unknown>, isSelected: boolean) =>
    sql`array(select ${what} from post_channels pc
      where pc.post_id = p.id and pc.workspace_id = p.workspace_id and ${isFailedOrUnconfirmed}
        and (${code} = any(${[...codes]})) = ${isSelected} order by pc.position)`;
  return query(
    em,
    sql<FailedPost>`
      select p.id as post_id, p.workspace_id, w.plan, ${ofChannels(code, true)} as codes,
        ${ofChannels(code, false)} as left_out, ${ofChannels(sql`pc.channel_id`, true)} as channel_ids
      from posts p join workspaces w on w.id = p.workspace_id
      where p.status = 'failed' and p.updated_at >= ${since} ${until === undefined ? sql`` : sql`and p.updated_at < ${until}`}
        ${workspaceId === undefined ? sql`` : sql`and p.workspace_id = ${workspaceId}`}
      order by ${dueAt('p')}, p.id`,
  );
}
