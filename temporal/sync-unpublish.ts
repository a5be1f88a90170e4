import type { Client } from '@temporalio/client';
import { sql } from 'kysely';
import type { Em } from '../db/orm.ts';
import { query } from '../db/query.ts';
import type { UnpublishToSync } from '../domain/to-sync.ts';
import type { Logger } from '../runtime/logger.ts';
import { postsQueue, unpublish, unpublishWorkflowId } from '../workflows/messages.ts';
import { ofWorkspace } from '../workflows/search-attributes.ts';
import { underDeadline } from './connect.ts';
import { startSearchable } from './ensure-search-attributes.ts';

/**
 * Starts the workflow that removes a post from its networks, or signals it that there is another request. The signal
 * keeps a workflow open that is about to end, so no request is lost. Safe to repeat.
 *
 * The row stays until the workflow ends it, and is synced again after an hour, in case Temporal lost the workflow.
 *
 * @throws ServiceError if Temporal is unavailable; the row stays in the outbox, and the relay retries.
 */
export async function syncUnpublish(
  client: Client,
  em: Em,
  { workspaceId, postId, networks, syncAt, requestId }: UnpublishToSync,
  log?: Logger,
): Promise<void> {
  const start = (searchable: object): Promise<unknown> =>
    client.workflow.signalWithStart('unpublishPost', {
      ...searchable,
      taskQueue: postsQueue,
      workflowId: unpublishWorkflowId(postId),
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      staticSummary: 'Removes a post from its networks',
      // Names the call in the API's log and in the audit log.
      ...(requestId === undefined ? {} : { memo: { requestId } }),
      priority: { fairnessKey: workspaceId },
      args: [{ workspaceId, postId }],
      signal: unpublish,
      signalArgs: [],
    });
  await underDeadline(client, () =>
    startSearchable(client, ofWorkspace(workspaceId, networks), start, log),
  );
  // Only if it is unchanged: a request since then has to be synced too.
  await query(
    em,
    sql`update unpublish_requests set sync_at = clock_timestamp() + interval '1 hour'
      where post_id = ${postId} and workspace_id = ${workspaceId} and sync_at = ${syncAt}`,
  );
}
