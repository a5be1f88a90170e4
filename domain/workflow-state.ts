/**
 * Whether something in Temporal goes on with a row. `busy`: a step of its workflow is being tried, or has a time for
 * its next try. `gone`: its workflow ended, or there never was one. `unknown`: Temporal did not say.
 */
export type WorkflowState = 'running' | 'busy' | 'gone' | 'unknown';

/** Asks Temporal. */
export type WorkflowStates = {
  readonly ofPost: (postId: string) => Promise<WorkflowState>;
  readonly ofDelivery: (deliveryId: string) => Promise<WorkflowState>;
};
