import type { Temporal } from '../../temporal/connect.ts';
import { poll } from './poll.ts';

/**
 * Searches Temporal as its Web UI does, until this many workflows appear, because its lists lag behind.
 *
 * @returns their ids in alphabetical order.
 */
export function visible({ client }: Temporal, query: string, count: number): Promise<string[]> {
  return poll(
    async () => {
      const found: string[] = [];
      for await (const { workflowId } of client.workflow.list({ query })) {
        found.push(workflowId);
      }

      return found.toSorted();
    },
    (found) => found.length >= count,
  );
}
