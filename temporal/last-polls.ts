import { postsQueue } from '../workflows/messages.ts';
import type { Temporal } from './connect.ts';

/**
 * Returns the last poll of each worker for workflow tasks, in milliseconds since 1970; null if Temporal does not
 * respond within `deadlineMs`. Temporal lists a worker for minutes after it has stopped.
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
        taskQueueType: 1, // TASK_QUEUE_TYPE_WORKFLOW
      }),
    );
    return (pollers ?? []).map(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1000);
  } catch {
    return null;
  }
}
