import type { Temporal } from '../../temporal/connect.ts';

/**
 * When the workflows that were due at a moment ended, by Temporal's clock, in milliseconds since 1970.
 *
 * @throws Error when there are not so many, or one has not ended well.
 */
export async function closeTimes(
  { client }: Temporal,
  dueAt: Date,
  count: number,
): Promise<number[]> {
  const query = `CloseTime >= '${dueAt.toISOString()}' and WorkflowId starts_with 'post-'`;
  const times: number[] = [];
  for await (const { closeTime, status, workflowId } of client.workflow.list({
    query,
    pageSize: 1000,
  })) {
    if (status.name !== 'COMPLETED' || !closeTime) {
      throw new Error(`The workflow ${workflowId} ended as ${status.name}.`);
    }

    times.push(closeTime.getTime());
  }

  if (times.length !== count) {
    throw new Error(`Of ${count} workflows, ${times.length} ended after their time.`);
  }

  return times;
}
