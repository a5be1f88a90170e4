import type { WorkflowStates } from '../../domain/statuses.ts';

/** For tests of single activities, which run without Temporal. */
export const noWorkflows: WorkflowStates = {
  ofPost: async () => 'unknown',
  ofDelivery: async () => 'unknown',
  ofRemoval: async () => 'unknown',
  knownOfPost: async () => null,
};
