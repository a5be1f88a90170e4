import { sql } from 'kysely';
import { isUnderWay, waitingValues } from '../db/channel-status.ts';
import { loadPostView } from '../db/load-post-view.ts';
import type { Em } from '../db/orm.ts';
import { isOpenPost } from '../db/post-status.ts';
import { query } from '../db/query.ts';
import {
  doubtLostResult,
  lacksChange,
  markDatabaseOlder,
  restoredDatabase,
} from '../db/restore-counter.ts';
import {
  channelStatuses,
  isFinal,
  type ChannelStatus,
  type PostStatus,
} from '../domain/statuses.ts';
import type { ActivityDeps } from './deps.ts';
import { endOfPost } from './finalize-post.ts';

export type ClaimRequest = {
  readonly workspaceId: string;
  readonly postId: string;
  /** The workflow's clock, in milliseconds since 1970. Only this clock decides what is due. */
  readonly nowMs: number;
  /** The newest revision that the workflow knows. */
  readonly revision: number;
  /** Ids of the rows of channels that the workflow published. */
  readonly published?: readonly string[];
};

type ClaimTarget = {
  readonly postChannelId: string;
  readonly channelId: string;
  readonly network: string;
  readonly handle: string;
};

/**
 * The workflow publishes the post on these channels, all that are not final. For a draft: the channels that were being
 * sent when it was cancelled, to record what became of them.
 */
export type Go = {
  readonly kind: 'go';
  readonly targets: readonly ClaimTarget[];
  /** Every cancel, new time and retry raises it. While it is unchanged, the publishing was not stopped. */
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

type UnclaimedRow = {
  readonly status: PostStatus;
  readonly scheduled_at: Date | null;
  readonly revision: number;
  readonly isOlder: boolean;
};

type Scope = { readonly postId: string; readonly workspaceId: string };

/**
 * Claims a due post: under the row's lock it goes from `scheduled` to `publishing`, and can no longer be edited. Each
 * channel changes status when its own sending begins, so a cancel can tell which have not begun. Safe to repeat:
 * claiming a publishing post again returns the channels that are not final.
 *
 * If an open post lacks a change that the workflow knows, the database is older: the workers stop, and the post waits.
 */
export async function claimPost(deps: ActivityDeps, request: ClaimRequest): Promise<Claim> {
  const { workspaceId, postId, nowMs, revision: known, published = [] } = request;
  const em = deps.orm.em.fork();
  await doubtLostResult(em, { workspaceId, postId, published });
  const scope: Scope = { postId, workspaceId };
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
): Promise<ClaimTarget[]> {
  const channels = await query(
    em,
    sql<ClaimTarget & { readonly status: ChannelStatus }>`
      select pc.id as "postChannelId", pc.channel_id as "channelId", c.platform as network, c.handle, pc.status
      from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
      where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId} order by pc.position`,
  );
  return channels
    .filter(({ status }) => only.includes(status) && !isFinal(status))
    .map(({ status: _, ...target }) => target);
}

/** Returns why the post could not be claimed. If it became due in this moment, the workflow claims again at once. */
async function whyNotClaimed(
  em: Em,
  scope: Scope,
  known: number,
  deps: ActivityDeps,
): Promise<Claim> {
  const [post] = await query(
    em,
    sql<UnclaimedRow>`
      select status, scheduled_at, revision,
        ${isOpenPost()} and ${lacksChange(known)} as "isOlder"
      from posts where id = ${scope.postId} and workspace_id = ${scope.workspaceId}`,
  );
  if (post?.isOlder) {
    const now = deps.now();
    await markDatabaseOlder(em, now);
    deps.log.error({ post: scope.postId, workspace: scope.workspaceId }, restoredDatabase);
    const dueAt = new Date(now.getTime() + restMs).toISOString();
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

  const dueAt = (post.scheduled_at ?? new Date(0)).toISOString();
  return { kind: 'not_due', revision: post.revision, dueAt };
}

/**
 * Resets channels left at `publishing`: their worker died, the post was cancelled, and then scheduled again. A claim
 * implies that no attempt is under way, so they wait for the new time; open parts are reconciled then.
 */
async function resetChannels(em: Em, { postId, workspaceId }: Scope): Promise<void> {
  await em.transactional(async (within) => {
    const [post] = await query(
      within,
      sql<{ status: PostStatus }>`
        select status from posts where id = ${postId} and workspace_id = ${workspaceId} for update`,
    );
    if (post?.status === 'scheduled') {
      await query(
        within,
        sql`update post_channels pc set ${waitingValues('scheduled')}
          where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId} and ${isUnderWay}`,
      );
    }
  });
}
