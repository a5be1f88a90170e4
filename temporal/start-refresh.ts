import type { Client } from '@temporalio/client';
import type { Logger } from '../runtime/logger.ts';
import {
  postMetricsWorkflowId,
  postsQueue,
  type RefreshMetricsInput,
} from '../workflows/messages.ts';
import { ofWorkspace } from '../workflows/search-attributes.ts';
import { underDeadline } from './connect.ts';
import { startSearchable } from './ensure-search-attributes.ts';

/** Request to read a post's metrics now. */
export type PostMetricsRequest = {
  readonly workspaceId: string;
  readonly postId: string;
  /** Networks of the post's channels. */
  readonly networks: readonly string[];
};

/** Timeout of one refresh, in milliseconds. */
const longestMs = 15 * 60_000;

/**
 * Starts the refresh of one post, unless one is running.
 *
 * @throws ServiceError if Temporal is unavailable; the schedule reads the metrics later.
 */
export async function startRefresh(
  client: Client,
  { workspaceId, postId, networks }: PostMetricsRequest,
  log?: Logger,
): Promise<void> {
  const input: RefreshMetricsInput = { networks, post: { workspaceId, postId } };
  const start = (searchable: object): Promise<unknown> =>
    client.workflow.start('refreshMetrics', {
      ...searchable,
      taskQueue: postsQueue,
      workflowId: postMetricsWorkflowId(postId),
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowRunTimeout: longestMs,
      staticSummary: 'Reads metrics of a post',
      priority: { fairnessKey: workspaceId },
      args: [input],
    });
  await underDeadline(client, () =>
    startSearchable(client, ofWorkspace(workspaceId, networks), start, log),
  );
}
