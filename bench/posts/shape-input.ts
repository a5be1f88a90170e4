/** What a workflow of `shapes.ts` is started with. */
export type ShapeInput = {
  /** Milliseconds since 1970. */
  readonly dueAtMs: number;
  /** The task queue of each of its channels. */
  readonly queues: readonly string[];
};
