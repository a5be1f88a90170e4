import type { WorkflowHandle } from '@temporalio/client';

type Metadata = { readonly currentDetails?: string };

/** A workflow's current details, from the same query as the Web UI's. */
export async function currentDetails(handle: WorkflowHandle): Promise<string> {
  const { currentDetails: details = '' } = await handle.query<Metadata>(
    '__temporal_workflow_metadata',
  );
  return details;
}
