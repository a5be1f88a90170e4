import { sql } from 'kysely';
import type { Em } from '../db/orm.ts';
import { db, query } from '../db/query.ts';
import { claimRestMs } from '../domain/pacing.ts';
import { loadPostView, type PostPresentation } from '../db/post-view.ts';
import { channelStatuses, isFinal, type ChannelStatus } from '../domain/post-status.ts';
import type { ActivityDeps } from './deps.ts';
import { endOpenChannels } from './finalize-post/end-open-channels.ts';
import { endOfPost } from './finalize-post/finalized.ts';

export type ClaimRequest = {
  readonly workspaceId: string;
  readonly postId: string;
  /** The workflow's clock, in milliseconds since 1970: one clock decides what is due. */
  readonly nowMs: number;
  /** How many claims the workflow made shortly before. Older workflows do not say. */
  readonly claimsBefore?: number;
};

type ClaimTarget = {
  readonly postChannelId: string;
  readonly channelId: string;
  readonly network: string;
};

/** What the row says. */
type Found =
  /**
   * The post is ours to publish, on these channels: all that have no final result yet. Of a draft: those that were
   * being sent when it was cancelled.
   */
  | {
      readonly kind: 'go';
      readonly targets: readonly ClaimTarget[];
      /** Every cancel, new time and retry raises it: while it stands, nobody has stopped this publishing. */
      readonly revision: number;
    }
  /** It was moved, and the message about it has not arrived. */
  | { readonly kind: 'not_due'; readonly revision: number; readonly dueAt: string }
  /** It is a draft, finished, or deleted. `end` says how it finished; claims in older histories do not. */
  | { readonly kind: 'gone'; readonly end?: ReturnType<typeof endOfPost> };

export type Claim = Found & {
  /** So long the workflow waits before its next claim, in milliseconds. Claims in older histories do not say. */
  readonly restMs?: number;
};

type ChannelRow = { id: string; channel_id: string; platform: string; status: ChannelStatus };
const channelColumns = sql`pc.id, pc.channel_id, c.platform, pc.status`;
type Scope = { readonly postId: string; readonly workspaceId: string };

/** By both ways to claim: a post that is scheduled, when its time has come. */
const isDue = (dueBy: Date) => sql`status = 'scheduled' and scheduled_at <= ${dueBy}`;

/**
 * The moment from which a post cannot be edited any more: under the row's lock, it goes from `scheduled` to
 * `publishing`. Each channel follows when its own sending begins, so that a cancel knows which have not begun. Safe
 * to repeat: a post that is already publishing is claimed again, without its final channels.
 */
export async function claimPost(deps: ActivityDeps, request: ClaimRequest): Promise<Claim> {
  const found = await claim(deps, request);
  return { ...found, restMs: claimRestMs(request.claimsBefore ?? 0) };
}

async function claim(deps: ActivityDeps, request: ClaimRequest): Promise<Found> {
  const { workspaceId, postId, nowMs } = request;
  const em = deps.orm.em.fork();
  const scope: Scope = { postId, workspaceId };
  const claimed = await claimUncontended(em, scope, new Date(nowMs), deps.now());
  if (claimed) {
    return claimed;
  }

  const revision = await claimAgain(em, scope, new Date(nowMs), deps.now());
  return revision === null
    ? whyNot(em, scope, deps)
    : { kind: 'go', targets: await openTargets(em, scope), revision };
}

/**
 * As a rule nobody else has its hands on the row, and one statement both claims the post and reads its channels. Where it
 * had to wait for somebody, what it read may be older than what it claims: then it claims nothing (`xmin` is the version
 * of a row, and the one that it locks must be the one that it saw).
 */
async function claimUncontended(
  em: Em,
  { postId, workspaceId }: Scope,
  dueBy: Date,
  now: Date,
): Promise<Found | null> {
  const rows = await query(
    em,
    sql<ChannelRow & { revision: number }>`
      with seen as materialized (
        select xmin::text as version from posts where id = ${postId} and workspace_id = ${workspaceId}),
      claimed as (
        update posts set status = 'publishing', updated_at = ${now} from seen
        where id = ${postId} and workspace_id = ${workspaceId} and ${isDue(dueBy)} and posts.xmin::text = seen.version
        returning id, revision)
      select claimed.revision, ${channelColumns}
      from claimed join post_channels pc on pc.post_id = claimed.id
      join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
      where pc.workspace_id = ${workspaceId} order by pc.position`,
  );
  const [first] = rows;
  return first ? { kind: 'go', targets: openAmong(rows), revision: first.revision } : null;
}

/** Each statement is a transaction of its own: once this one is committed, nobody but a cancel changes the channels. */
async function claimAgain(
  em: Em,
  { postId, workspaceId }: Scope,
  dueBy: Date,
  now: Date,
): Promise<number | null> {
  const [post] = await query(
    em,
    sql<{ revision: number }>`
      update posts set status = 'publishing', updated_at = case status when 'scheduled' then ${now} else updated_at end
      where id = ${postId} and workspace_id = ${workspaceId} and (status = 'publishing' or ${isDue(dueBy)})
      returning revision`,
  );
  return post?.revision ?? null;
}

async function openTargets(
  em: Em,
  { postId, workspaceId }: Scope,
  only: readonly ChannelStatus[] = channelStatuses,
): Promise<ClaimTarget[]> {
  const channels = await query(
    em,
    sql<ChannelRow>`
      select ${channelColumns}
      from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
      where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId} order by pc.position`,
  );
  return openAmong(channels.filter(({ status }) => only.includes(status)));
}

const openAmong = (channels: readonly ChannelRow[]): ClaimTarget[] =>
  channels
    .filter(({ status }) => !isFinal(status))
    .map((row) => ({ postChannelId: row.id, channelId: row.channel_id, network: row.platform }));

/** What the post is that could not be claimed. If it became due in this moment, the workflow comes back at once. */
async function whyNot(em: Em, scope: Scope, shownBy: PostPresentation): Promise<Found> {
  const [post] = await query(
    em,
    db
      .selectFrom('posts')
      .select(['status', 'scheduled_at', 'revision'])
      .where('id', '=', scope.postId)
      .where('workspace_id', '=', scope.workspaceId),
  );
  if (post?.status === 'draft') {
    const targets = await openTargets(em, scope, ['publishing', 'retrying']);
    return targets.length === 0
      ? { kind: 'gone' }
      : { kind: 'go', targets, revision: post.revision };
  }

  if (post?.status !== 'scheduled' && post?.status !== 'publishing') {
    const view = post && (await loadPostView(em, scope.workspaceId, scope.postId, shownBy));
    return view ? { kind: 'gone', end: endOfPost(view) } : { kind: 'gone' };
  }

  if (post.status === 'scheduled') {
    await restChannels(em, scope);
  }

  const dueAt = (post.scheduled_at ?? new Date(0)).toISOString();
  return { kind: 'not_due', revision: post.revision, dueAt };
}

/**
 * A worker died over a channel of a post that was cancelled, and the post got a new time before anybody took it up: whoever
 * claims has no try under way, so nobody sends it. It is looked for at the new time, like all that is in doubt.
 */
async function restChannels(em: Em, scope: Scope): Promise<void> {
  const { postId, workspaceId } = scope;
  const held = await query(
    em,
    db
      .selectFrom('post_channels')
      .select('id')
      .where('post_id', '=', postId)
      .where('workspace_id', '=', workspaceId)
      .where('status', '=', 'publishing')
      .limit(1),
  );
  if (held.length === 0) {
    return;
  }

  await em.transactional(async (within) => {
    const [post] = await query(
      within,
      db
        .selectFrom('posts')
        .select('status')
        .where('id', '=', postId)
        .where('workspace_id', '=', workspaceId)
        .forUpdate(),
    );
    if (post?.status === 'scheduled') {
      await endOpenChannels(within, scope, 'scheduled anew');
    }
  });
}
