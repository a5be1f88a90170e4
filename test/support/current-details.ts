import type { WorkflowHandle } from '@temporalio/client';

type Metadata = { readonly currentDetails?: string };

/** What the Web UI shows as a workflow's current details. It asks in the same way. */
export async function currentDetails(handle: WorkflowHandle): Promise<string> {
  const { currentDetails: details = '' } = await handle.query<Metadata>(
    '__temporal_workflow_metadata',
  );
  return details;
}
