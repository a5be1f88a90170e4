import { postsQueue } from '../workflows/messages.ts';
import type { Temporal } from './connect.ts';

/**
 * When each worker last asked for workflows to run, in milliseconds since 1970. Null when Temporal does not
 * answer within `deadlineMs`. Temporal names a worker for minutes after it is gone, so look at the times.
 */
export async function lastPolls(
  { client, connection, namespace }: Temporal,
  deadlineMs: number,
): Promise<number[] | null> {
  try {
    const { pollers } = await client.withDeadline(Date.now() + deadlineMs, () =>
      connection.workflowService.describeTaskQueue({
        namespace,
        taskQueue: { name: postsQueue },
        taskQueueType: 1, // Workflow tasks, in Temporal's own numbering.
      }),
    );
    return (pollers ?? []).map(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1000);
  } catch {
    return null;
  }
}
