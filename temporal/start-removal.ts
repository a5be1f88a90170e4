import type { Client } from '@temporalio/client';
import type { PostToSync } from '../domain/to-sync.ts';
import type { Logger } from '../runtime/logger.ts';
import { postsQueue, unpublish, unpublishWorkflowId } from '../workflows/messages.ts';
import { ofWorkspace } from '../workflows/search-attributes.ts';
import { startSearchable } from './ensure-search-attributes.ts';

/**
 * Starts the workflow that removes a post from its networks, or signals it that there is another request. The signal
 * keeps a workflow open that is about to end, so no request is lost. Safe to repeat.
 *
 * @param networks Networks of the post's channels.
 */
export const startRemoval = (
  client: Client,
  { workspaceId, postId, requestId }: PostToSync,
  networks: readonly string[],
  log?: Logger,
): Promise<unknown> =>
  startSearchable(
    client,
    ofWorkspace(workspaceId, networks),
    (searchable) =>
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
      }),
    log,
  );
