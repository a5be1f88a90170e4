import { isGrpcServiceError, ServiceError, type WorkflowHandle } from '@temporalio/client';
import { poll } from './poll.ts';

type Metadata = { readonly currentDetails?: string };

/** A workflow's current details, from the same query as the Web UI's. */
export async function currentDetails(handle: WorkflowHandle): Promise<string> {
  const metadata = await poll(
    () => handle.query<Metadata>('__temporal_workflow_metadata').catch(nullIfCancelled),
    (found) => found !== null,
  );
  return metadata?.currentDetails ?? '';
}

/** Temporal cancels a query whose workflow task it takes from a busy worker. */
function nullIfCancelled(error: unknown): null {
  const cause = error instanceof ServiceError ? error.cause : undefined;
  if (isGrpcServiceError(cause) && cause.details === 'context canceled') {
    return null;
  }

  throw error;
}
