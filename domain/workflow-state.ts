/**
 * The state of a row's workflow in Temporal. `asleep`: it waits for a timer or a signal. `waiting`: it, or one of its
 * activities, waits for a worker. `busy`: an activity runs or has a next attempt scheduled. `gone`: it ended or never
 * existed. `unknown`: Temporal did not say.
 */
export type WorkflowState = 'asleep' | 'waiting' | 'busy' | 'gone' | 'unknown';

export type WorkflowStates = {
  readonly ofPost: (postId: string) => Promise<WorkflowState>;
  readonly ofDelivery: (deliveryId: string) => Promise<WorkflowState>;
  /**
   * The workflows that Temporal lists as running, of up to a few hundred posts in one cheap request. The list may lag,
   * and after a loss of data it may show workflows that are gone. Null when Temporal did not answer.
   */
  readonly listPosts: (postIds: readonly string[]) => Promise<ReadonlySet<string> | null>;
  readonly listDeliveries: (deliveryIds: readonly string[]) => Promise<ReadonlySet<string> | null>;
};
