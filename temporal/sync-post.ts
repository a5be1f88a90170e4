import {
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  type Client,
} from '@temporalio/client';
import { sql } from 'kysely';
import { dueAt } from '../db/post-columns.ts';
import type { Em } from '../db/orm.ts';
import { query } from '../db/query.ts';
import { wakeDelayMs } from '../domain/pacing.ts';
import type { Logger } from '../runtime/logger.ts';
import {
  cancel,
  postsQueue,
  postWorkflowId,
  reschedule,
  type PublishPostInput,
} from '../workflows/messages.ts';
import { ofPost } from '../workflows/search-attributes.ts';
import { underDeadline } from './connect.ts';
import { startSearchable } from './search-attributes.ts';

/** What the workflow of a post must know. */
export type PostToSync = {
  readonly workspaceId: string;
  readonly postId: string;
  readonly status: string;
  readonly revision: number;
  /** ISO 8601 in UTC: the post's time, or that of its retry; null for a draft. */
  readonly dueAt: string | null;
  /** Of a draft: a channel was being sent when it was cancelled, and is to be finished. */
  readonly isUnfinished?: boolean;
  /** A channel was settled after the post had ended, so its last workflow shows an outdated end. */
  readonly isSettled?: boolean;
  /** Where it is to go, for people who search for it in Temporal; left out by callers that do not know. */
  readonly networks?: readonly string[];
};

/**
 * Starts or signals the workflow of a post according to the committed row, and marks the row synced. Safe to repeat and
 * to overtake: starts are idempotent, and signals carry the revision.
 *
 * @throws ServiceError when Temporal is away; the row stays in the outbox, and the relay repeats it.
 */
export async function syncPost(
  client: Client,
  em: Em,
  post: PostToSync,
  log?: Logger,
): Promise<void> {
  const wakeAt = await wakeTime(em, post);
  const version = post.status === 'draft' ? await versionOf(em, post) : null;
  await underDeadline(client, () => notify(client, { ...post, dueAt: wakeAt }, log));
  const wakesAt = wakeAt === post.dueAt ? null : wakeAt;
  await markSynced(em, post, { wakesAt, version }, log);
}

/** Which version of the row there is: every change makes another one. */
async function versionOf(em: Em, { workspaceId, postId }: PostToSync): Promise<string | null> {
  const [row] = await query<{ version: string }>(
    em,
    sql`select xmin::text as version from posts where id = ${postId} and workspace_id = ${workspaceId}`,
  );
  return row?.version ?? null;
}

/**
 * When a post's workflow is to wake up: at the post's time, unless its workspace has hundreds of posts in that second.
 * What a user sees is the post's own time, and the workflow asks the database for it before it publishes.
 *
 * @returns ISO 8601 in UTC; null for a draft.
 */
export async function wakeTime(em: Em, post: PostToSync): Promise<string | null> {
  const { workspaceId, postId, status, dueAt: at } = post;
  if (status !== 'scheduled' || at === null) {
    return at;
  }

  // In the order of the index `posts_due_by_workspace`: thousands of others may be due in the same second.
  const [row] = await query<{ before: number }>(
    em,
    sql`select count(*)::int as before from posts
      where workspace_id = ${workspaceId} and status = 'scheduled'
        and ${dueAt()} between date_trunc('second', ${at}::timestamptz) and ${at}::timestamptz
        and (${dueAt()}, id) < (${at}::timestamptz, ${postId}::uuid)`,
  );
  return new Date(Date.parse(at) + wakeDelayMs(row?.before ?? 0)).toISOString();
}

/**
 * Marks a row synced, or puts it into the outbox once more where Temporal has something else now than the row says:
 * - A failover lost the commit of which the workflow was notified: the row's revision is below the one that the workflow
 *   has.
 * - The post became a draft before its start reached Temporal: the cancel may have found no workflow, or one that has
 *   ended since, and this one would sleep until the post's time.
 *
 * @param version Of a cancel: it is marked only while the row is what it was before Temporal was asked. A start that came
 * right behind it may have put the row back by now, for this cancel to be repeated. So may the workflow have, as it wrote
 * how it ended: then the cancel is repeated for nothing, once for each time that the row changes meanwhile.
 */
async function markSynced(
  em: Em,
  post: PostToSync,
  { wakesAt, version }: { readonly wakesAt: string | null; readonly version: string | null },
  log?: Logger,
): Promise<void> {
  const { workspaceId, postId, revision } = post;
  const [row] = await query<{ revision: number }>(
    em,
    sql`update posts set synced_revision = case
          when ${revision}::int > revision then revision - 1
          when ${mayStart(post)}::boolean and status = 'draft' then revision - 1
          else least(revision, greatest(synced_revision, ${revision}::int)) end,
        wakes_at = case when ${revision}::int between least(synced_revision, revision) and revision
          then ${wakesAt}::timestamptz else wakes_at end
      where id = ${postId} and workspace_id = ${workspaceId} and coalesce(xmin::text = ${version}::text, true)
      returning revision`,
  );
  if (row && row.revision < revision) {
    log?.warn(
      { post: postId, workspace: workspaceId, synced: revision, revision: row.revision },
      'the database lost a change that the workflow of this post knows: it is synced once more',
    );
  }
}

/** Whether its sync starts a workflow where none runs. A retry is synced like a new time, which is now. */
const mayStart = (post: PostToSync): post is PostToSync & { readonly dueAt: string } =>
  (post.status === 'scheduled' || post.status === 'publishing') && post.dueAt !== null;

async function notify(client: Client, post: PostToSync, log?: Logger): Promise<void> {
  const { workspaceId, postId, revision, networks } = post;
  if (mayStart(post)) {
    const { dueAt: at } = post;
    const options = startOptions({ workspaceId, postId, revision, dueAt: at });
    // Repairs "no workflow" and "a workflow with another time" in one call.
    const signal = (searchable: object): Promise<unknown> =>
      client.workflow.signalWithStart('publishPost', {
        ...options,
        ...searchable,
        signal: reschedule,
        signalArgs: [{ revision, dueAt: at }],
      });
    const start = (searchable: object): Promise<unknown> =>
      revision === 1
        ? startOr(client, { ...options, ...searchable }, () => signal(searchable))
        : signal(searchable);
    await startSearchable(client, ofPost(workspaceId, networks), start, log);
  } else if (post.status === 'draft' && post.isUnfinished) {
    // To be finished at once, by its workflow, which may sleep until another time, or by one that is started now.
    const options = startOptions({ workspaceId, postId, revision, dueAt: longAgo });
    const start = (searchable: object): Promise<unknown> =>
      client.workflow.signalWithStart('publishPost', {
        ...options,
        ...searchable,
        signal: cancel,
        signalArgs: [{ revision, unfinished: true }],
      });
    await startSearchable(client, ofPost(workspaceId, networks), start, log);
  } else if (post.status === 'draft') {
    await notifyOfCancel(client, post);
  } else if (post.isSettled) {
    await showEnd(client, post, log);
  }
}

/** Starts a workflow that finds the post ended, and ends as the post has: for people who watch it in Temporal. */
async function showEnd(client: Client, post: PostToSync, log?: Logger): Promise<void> {
  const { workspaceId, postId, revision, networks } = post;
  const start = (searchable: object): Promise<unknown> =>
    client.workflow.signalWithStart('publishPost', {
      ...startOptions({ workspaceId, postId, revision, dueAt: longAgo }),
      ...searchable,
      signal: reschedule,
      signalArgs: [{ revision, dueAt: longAgo }],
    });
  await startSearchable(client, ofPost(workspaceId, networks), start, log);
}

async function notifyOfCancel(client: Client, { postId, revision }: PostToSync): Promise<void> {
  try {
    await client.workflow.getHandle(postWorkflowId(postId)).signal(cancel, { revision });
  } catch (error) {
    // Without a workflow there is nothing to be ended.
    if (!(error instanceof WorkflowNotFoundError)) {
      throw error;
    }
  }
}

/**
 * Starts the workflow of a post that was never changed. One that runs is signalled all the same: it may be about to end
 * for a cancel that the database lost in a failover, and would not know that the post goes on.
 */
async function startOr(
  client: Client,
  options: ReturnType<typeof startOptions>,
  signal: () => Promise<unknown>,
): Promise<void> {
  try {
    await client.workflow.start('publishPost', { ...options, workflowIdConflictPolicy: 'FAIL' });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) {
      throw error;
    }

    await signal();
  }
}

const longAgo = new Date(0).toISOString();

const startOptions = (input: PublishPostInput) => ({
  taskQueue: postsQueue,
  workflowId: postWorkflowId(input.postId),
  // Running: leave it. Closed: a retry, or a draft that was scheduled again, is a new run of the same id.
  workflowIdConflictPolicy: 'USE_EXISTING' as const,
  workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const,
  // Short, and no details: each byte is kept for as long as the post sleeps. The id names the post, the search
  // attributes its workspace and networks; the current details say the rest and cost nothing.
  staticSummary: 'Scheduled post',
  // Activities and deliveries inherit it: a workspace with many posts does not hold up another's few.
  priority: { fairnessKey: input.workspaceId },
  args: [input] as [PublishPostInput],
});
