import type { WorkflowStates } from '../../domain/workflow-state.ts';

/** For tests of single activities, where no Temporal runs that could be asked. */
export const noWorkflows: WorkflowStates = {
  ofPost: async () => 'unknown',
  ofDelivery: async () => 'unknown',
  listPosts: async () => null,
  listDeliveries: async () => null,
};
