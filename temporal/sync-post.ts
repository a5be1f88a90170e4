import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { ask } from '../db/ask.ts';
import type { Em } from '../db/orm.ts';
import type { Logger } from '../runtime/logger.ts';
import {
  cancel,
  postsQueue,
  postWorkflowId,
  reschedule,
  type PublishPostInput,
} from '../workflows/messages.ts';
import { ofWorkspace } from '../workflows/search-attributes.ts';
import { startSearchable } from './start-searchable.ts';
import { underDeadline } from './under-deadline.ts';
import { wakeTime } from './wake-time.ts';

/** What Temporal must know of a post. */
export type PostToSync = {
  readonly workspaceId: string;
  readonly postId: string;
  readonly status: string;
  readonly revision: number;
  /** ISO 8601 in UTC: the post's time, or that of its retry; null for a draft. */
  readonly dueAt: string | null;
  /** Of a draft: a channel was being sent when it was cancelled, and is to be finished. */
  readonly isUnfinished?: boolean;
  /** Where it is to go, for people who look for it in Temporal; whoever does not know leaves it out. */
  readonly networks?: readonly string[];
};

/**
 * Tells Temporal of a post's committed state and remembers that it was told. Safe to repeat and to overtake:
 * starts are idempotent, and messages carry the revision.
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
  await underDeadline(client, () => tell(client, { ...post, dueAt: wakeAt }, log));
  await remember(em, post, wakeAt === post.dueAt ? null : wakeAt, log);
}

/**
 * Where a failover lost the commit while Temporal was told of it, the row stands below what was told: it goes into the
 * outbox, so that Temporal hears what is so.
 */
async function remember(
  em: Em,
  { workspaceId, postId, revision }: PostToSync,
  wakesAt: string | null,
  log?: Logger,
): Promise<void> {
  const [row] = await ask<{ revision: number }>(
    em,
    `update posts set synced_revision = case when $1 > revision then revision - 1
         else least(revision, greatest(synced_revision, $1)) end,
       wakes_at = case when $1 between least(synced_revision, revision) and revision then $4::timestamptz
         else wakes_at end
     where id = $2 and workspace_id = $3 returning revision`,
    [revision, postId, workspaceId, wakesAt],
  );
  if (row && row.revision < revision) {
    log?.warn(
      { post: postId, workspace: workspaceId, told: revision, revision: row.revision },
      'the database lost a change of which Temporal was told: it is told of the post as it is',
    );
  }
}

async function tell(client: Client, post: PostToSync, log?: Logger): Promise<void> {
  const { workspaceId, postId, revision, dueAt, networks } = post;
  // A retry is told of like a new time, which is now.
  if ((post.status === 'scheduled' || post.status === 'publishing') && dueAt !== null) {
    const options = startOptions({ workspaceId, postId, revision, dueAt });
    const start = (searchable: object): Promise<unknown> =>
      revision === 1
        ? client.workflow.start('publishPost', { ...options, ...searchable })
        : // Repairs "no workflow" and "a workflow with an older time" in one call.
          client.workflow.signalWithStart('publishPost', {
            ...options,
            ...searchable,
            signal: reschedule,
            signalArgs: [{ revision, dueAt }],
          });
    await startSearchable(client, ofWorkspace(workspaceId, networks), start, log);
    return;
  }

  if (post.status === 'draft' && post.isUnfinished) {
    // Somebody has to finish it at once: its workflow, which may sleep until another time, or one that is started now.
    const options = startOptions({ workspaceId, postId, revision, dueAt: longAgo });
    const start = (searchable: object): Promise<unknown> =>
      client.workflow.signalWithStart('publishPost', {
        ...options,
        ...searchable,
        signal: cancel,
        signalArgs: [{ revision, unfinished: true }],
      });
    await startSearchable(client, ofWorkspace(workspaceId, networks), start, log);
    return;
  }

  if (post.status === 'draft') {
    try {
      await client.workflow.getHandle(postWorkflowId(postId)).signal(cancel, { revision });
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) {
        throw error;
      }
    }
  }
}

const longAgo = new Date(0).toISOString();

const startOptions = (input: PublishPostInput) => ({
  taskQueue: postsQueue,
  workflowId: postWorkflowId(input.postId),
  // Running: leave it. Closed: a retry, or a draft that was scheduled again, is a new run of the same id.
  workflowIdConflictPolicy: 'USE_EXISTING' as const,
  workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const,
  // Short, and no details: each byte is kept for as long as the post sleeps. Which post it is stands in the id, whose
  // and where to in the search attributes; the current details say the rest and cost nothing.
  staticSummary: 'Scheduled post',
  // Its activities and deliveries inherit it: a workspace with many posts does not hold up another's few.
  priority: { fairnessKey: input.workspaceId },
  args: [input] as [PublishPostInput],
});
