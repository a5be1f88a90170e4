/**
 * Whether something in Temporal goes on with a row. `asleep`: its workflow waits for a time or a message, and has no step
 * under way. `waiting`: a step, or the workflow itself, waits for a worker. `busy`: a step is being tried, or has a time
 * for its next try. `gone`: its workflow ended, or there never was one. `unknown`: Temporal did not say.
 */
export type WorkflowState = 'asleep' | 'waiting' | 'busy' | 'gone' | 'unknown';

/** Asks Temporal. */
export type WorkflowStates = {
  readonly ofPost: (postId: string) => Promise<WorkflowState>;
  readonly ofDelivery: (deliveryId: string) => Promise<WorkflowState>;
  /**
   * Of many at once, a few hundred at most, and at little cost: those that Temporal lists as running. A list may be
   * behind, and after a loss of data it may show what is gone. Null when there is none to be had.
   */
  readonly listPosts: (postIds: readonly string[]) => Promise<ReadonlySet<string> | null>;
  readonly listDeliveries: (deliveryIds: readonly string[]) => Promise<ReadonlySet<string> | null>;
};
