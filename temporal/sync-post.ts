import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import type { Em } from '../db/orm.ts';
import {
  cancel,
  postsQueue,
  postWorkflowId,
  reschedule,
  type PublishPostInput,
} from '../workflows/messages.ts';
import { underDeadline } from './under-deadline.ts';

/** What Temporal must know of a post. */
export type PostToSync = {
  readonly workspaceId: string;
  readonly postId: string;
  readonly status: string;
  readonly revision: number;
  /** ISO 8601 in UTC: the post's time, or that of its retry; null for a draft. */
  readonly dueAt: string | null;
};

/**
 * Tells Temporal of a post's committed state and remembers that it was told. Safe to repeat and to overtake:
 * starts are idempotent, and messages carry the revision.
 *
 * @throws ServiceError when Temporal is away; the row stays in the outbox, and the relay repeats it.
 */
export async function syncPost(client: Client, em: Em, post: PostToSync): Promise<void> {
  await underDeadline(client, () => tell(client, post));
  await em.execute(
    'update posts set synced_revision = greatest(synced_revision, ?) where id = ? and workspace_id = ?',
    [post.revision, post.postId, post.workspaceId],
  );
}

async function tell(client: Client, post: PostToSync): Promise<void> {
  const { workspaceId, postId, revision, dueAt } = post;
  // A retry is told of like a new time, which is now.
  if ((post.status === 'scheduled' || post.status === 'publishing') && dueAt !== null) {
    const input = { workspaceId, postId, revision, dueAt };
    if (revision === 1) {
      await client.workflow.start('publishPost', startOptions(input));
      return;
    }

    // Repairs "no workflow" and "a workflow with an older time" in one call.
    await client.workflow.signalWithStart('publishPost', {
      ...startOptions(input),
      signal: reschedule,
      signalArgs: [{ revision, dueAt }],
    });
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

const startOptions = (input: PublishPostInput) => ({
  taskQueue: postsQueue,
  workflowId: postWorkflowId(input.postId),
  // Running: leave it. Closed: a retry, or a draft that was scheduled again, is a new run of the same id.
  workflowIdConflictPolicy: 'USE_EXISTING' as const,
  workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const,
  staticSummary: `Post ${input.postId}`,
  staticDetails: `Workspace ${input.workspaceId}. The post's texts and results are in the database: \`GET /api/v1/posts/${input.postId}\`.`,
  args: [input] as [PublishPostInput],
});
