import { postWorkflowId } from '../../workflows/messages.ts';
import type { Punctual } from '../support/punctual.ts';

/** The status and the input of a post's newest workflow. */
export async function startedWith(
  { temporal }: Punctual,
  postId: string,
): Promise<{ status: string; input: unknown[] }> {
  const handle = temporal.client.workflow.getHandle(postWorkflowId(postId));
  const { status } = await handle.describe();
  const { events } = await handle.fetchHistory();
  const payloads = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  const input = payloads.map(({ data }) => JSON.parse(Buffer.from(data ?? []).toString('utf8')));
  return { status: status.name, input };
}

/** @returns the id of the newest run of a post's workflow; null when there was none. */
export async function runOf({ temporal }: Punctual, postId: string): Promise<string | null> {
  try {
    const { runId } = await temporal.client.workflow.getHandle(postWorkflowId(postId)).describe();
    return runId;
  } catch (error) {
    if (error instanceof Error && error.name === 'WorkflowNotFoundError') {
      return null;
    }

    throw error;
  }
}
