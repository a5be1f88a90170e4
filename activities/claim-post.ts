import { sql } from 'kysely';
import { isUnderWay, waitingValues } from '../db/channel-status.ts';
import type { Post } from '../db/entities/posts.ts';
import { loadPostView } from '../db/load-post-view.ts';
import type { Em } from '../db/orm.ts';
import { isOpenPost } from '../db/post-status.ts';
import { query } from '../db/query.ts';
import {
  doubtLostResult,
  lacksChange,
  markDatabaseOlder,
  restoredDatabase,
  type Published,
} from '../db/restore-counter.ts';
import { channelStatuses, isFinal, type ChannelStatus } from '../domain/statuses.ts';
import type { ActivityDeps } from './deps.ts';
import { endOfPost } from './finalize-post.ts';

export type ClaimRequest = {
  readonly workspaceId: string;
  readonly postId: string;
  /** The workflow's clock, in milliseconds since 1970. Only this clock decides what is due. */
  readonly nowMs: number;
  readonly revision: number;
  readonly published?: Published;
};

export type Target = {
  readonly postChannelId: string;
  readonly channelId: string;
  readonly network: string;
  readonly handle: string;
};

/** The channels to publish, all that are not final; of a draft, those that were being sent when it was cancelled. */
export type Go = {
  readonly kind: 'go';
  readonly targets: readonly Target[];
  /** Every cancel, new time and retry raises it. */
  readonly revision: number;
};

export type Claim =
  | Go
  /** The post has a new time, and the workflow has not received the signal yet; or the database is older. */
  | { readonly kind: 'not_due'; readonly revision: number; readonly dueAt: string }
  /** The post is a draft, finished, or deleted. `end`: how it finished. */
  | { readonly kind: 'gone'; readonly end?: ReturnType<typeof endOfPost> };

/** Wait before the next claim if the database is older, in milliseconds. The workers stop within seconds. */
const restMs = 60_000;

type UnclaimedRow = Pick<Post, 'status' | 'scheduledAt' | 'revision'> & {
  readonly isOlder: boolean;
};

type Scope = { readonly postId: string; readonly workspaceId: string };

/**
 * Claims a due post: under the row's lock it goes from `scheduled` to `publishing`, and can no longer be edited. Each
 * channel changes status when its own sending begins. If an open post lacks a change that the workflow knows, the
 * database is older: the workers stop, and the post waits.
 */
export async function claimPost(deps: ActivityDeps, request: ClaimRequest): Promise<Claim> {
  const { workspaceId, postId, nowMs, revision: known, published = {} } = request;
  const em = deps.orm.em.fork();
  const scope: Scope = { postId, workspaceId };
  await doubtLostResult(em, scope, published);
  // Each statement is its own transaction: after this one commits, only a cancel changes the channels.
  const [post] = await query(
    em,
    sql<{ revision: number }>`
      update posts set status = 'publishing',
        updated_at = case status when 'scheduled' then ${deps.now()} else updated_at end
      where id = ${postId} and workspace_id = ${workspaceId}
        and (status = 'publishing' or status = 'scheduled' and scheduled_at <= ${new Date(nowMs)})
        and not ${lacksChange(known)}
      returning revision`,
  );
  return post
    ? { kind: 'go', targets: await openTargets(em, scope), revision: post.revision }
    : whyNotClaimed(em, scope, known, deps);
}

async function openTargets(
  em: Em,
  { postId, workspaceId }: Scope,
  only: readonly ChannelStatus[] = channelStatuses,
): Promise<Target[]> {
  const channels = await query(
    em,
    sql<Target & { readonly status: ChannelStatus }>`
      select pc.id as "postChannelId", pc.channel_id as "channelId", c.platform as network, c.handle, pc.status
      from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
      where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId} order by pc.position`,
  );
  return channels
    .filter(({ status }) => only.includes(status) && !isFinal(status))
    .map(({ status: _, ...target }) => target);
}

/** If the post became due in this moment, the workflow claims again at once. */
async function whyNotClaimed(
  em: Em,
  scope: Scope,
  known: number,
  deps: ActivityDeps,
): Promise<Claim> {
  const [post] = await query(
    em,
    sql<UnclaimedRow>`
      select status, scheduled_at as "scheduledAt", revision,
        ${isOpenPost()} and ${lacksChange(known)} as "isOlder"
      from posts where id = ${scope.postId} and workspace_id = ${scope.workspaceId}`,
  );
  if (post?.isOlder) {
    await markDatabaseOlder(em);
    deps.log.error({ post: scope.postId, workspace: scope.workspaceId }, restoredDatabase);
    const dueAt = new Date(deps.now().getTime() + restMs).toISOString();
    return { kind: 'not_due', revision: known, dueAt };
  }

  if (post?.status === 'draft') {
    const targets = await openTargets(em, scope, ['publishing', 'retrying']);
    return targets.length === 0
      ? { kind: 'gone' }
      : { kind: 'go', targets, revision: post.revision };
  }

  if (post?.status !== 'scheduled' && post?.status !== 'publishing') {
    const view = post && (await loadPostView(em, scope.workspaceId, scope.postId, deps));
    return view ? { kind: 'gone', end: endOfPost(view) } : { kind: 'gone' };
  }

  if (post.status === 'scheduled') {
    await resetChannels(em, scope);
  }

  const dueAt = (post.scheduledAt ?? new Date(0)).toISOString();
  return { kind: 'not_due', revision: post.revision, dueAt };
}

/**
 * Resets channels left at `publishing`: their worker died, the post was cancelled, and then scheduled again. A claim
 * implies that no attempt is under way, so they wait for the new time; open parts are reconciled then.
 */
const resetChannels = (em: Em, { postId, workspaceId }: Scope): Promise<unknown> =>
  query(
    em,
    sql`with post as materialized (
        select id from posts
        where id = ${postId} and workspace_id = ${workspaceId} and status = 'scheduled' for update)
      update post_channels pc set ${waitingValues('scheduled')} from post
      where pc.post_id = post.id and pc.workspace_id = ${workspaceId} and ${isUnderWay}`,
  );
