import { setTimeout as sleep } from 'node:timers/promises';
import type { Stage } from '../../scripts/parts/part.ts';
import type { Temporal } from '../../temporal/connect.ts';

/** How many workflows whose ids begin so have ended so far. */
export async function countClosed({ client }: Temporal, prefix: string): Promise<number> {
  const { count } = await client.workflow.count(
    `ExecutionStatus != 'Running' and WorkflowId starts_with '${prefix}'`,
  );
  return count;
}

type Awaited = {
  /** What their ids begin with. */
  readonly prefix: string;
  readonly workflows: number;
  /** Milliseconds that they may take. */
  readonly withinMs: number;
};

/** @throws Error when fewer have ended in time. */
export async function untilClosed(
  { signal }: Stage,
  temporal: Temporal,
  { prefix, workflows, withinMs }: Awaited,
): Promise<void> {
  const endMs = Date.now() + withinMs;
  for (let closed = 0; closed < workflows; closed = await countClosed(temporal, prefix)) {
    signal.throwIfAborted();
    if (Date.now() > endMs) {
      const within = `After ${withinMs / 1000} s`;
      throw new Error(`${within} only ${closed} of ${workflows} workflows were done.`);
    }

    await sleep(200);
  }
}
