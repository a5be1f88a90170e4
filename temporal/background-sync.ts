import type { Client } from '@temporalio/client';
import { isDatabaseUnavailable } from '../db/database-errors.ts';
import type { Em, Orm } from '../db/orm.ts';
import type { PostMetricsRequest, PostToSync } from '../domain/to-sync.ts';
import { describeError, type Logger } from '../runtime/logger.ts';
import {
  postMetricsWorkflowId,
  postsQueue,
  type RefreshMetricsInput,
} from '../workflows/messages.ts';
import { ofWorkspace } from '../workflows/search-attributes.ts';
import { isTemporalUnavailable, underDeadline } from './connect.ts';
import { startSearchable } from './ensure-search-attributes.ts';
import { syncPost } from './sync-post.ts';

/** Number of concurrent syncs. Rows beyond it wait for the relay, which needs no memory for them. */
const maxInFlight = 100;

/** Syncs committed rows with Temporal after the API has responded. Returns at once; the relay retries failed syncs. */
export function backgroundSync(client: Client, orm: Orm, log: Logger) {
  const inFlight = new Set<Promise<void>>();
  let isAway = false;
  const begin = (row: object, sync: (em: Em) => Promise<void>): void => {
    if (inFlight.size >= maxInFlight) {
      return;
    }

    const syncing = sync(orm.em.fork())
      .then(() => {
        isAway = false;
      })
      .catch((error: unknown) => {
        // One line for an outage, not one for each post.
        const ofOutage = isTemporalUnavailable(error) || isDatabaseUnavailable(error);
        const level = isAway && ofOutage ? 'debug' : 'warn';
        isAway = ofOutage;
        const why = describeError(error);
        log[level](
          { ...row, error: why },
          'sync failed, the relay retries, unless the post was deleted',
        );
      })
      .finally(() => inFlight.delete(syncing));
    inFlight.add(syncing);
  };
  return {
    syncPost: (post: PostToSync): void =>
      begin({ post: post.postId, requestId: post.requestId }, (em) => syncPost(client, em, post)),
    /** Starts the refresh of a post's metrics, unless one is running. If that fails, the schedule reads them later. */
    refreshPost: (request: PostMetricsRequest): void =>
      begin({ metricsOf: request.postId }, () => startRefresh(client, request)),
    drain: async (): Promise<void> => {
      await Promise.all(inFlight);
    },
  };
}

const longestMs = 15 * 60_000;

async function startRefresh(
  client: Client,
  { workspaceId, postId, networks }: PostMetricsRequest,
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
    startSearchable(client, ofWorkspace(workspaceId, networks), start),
  );
}
