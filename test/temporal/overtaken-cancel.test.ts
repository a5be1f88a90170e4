import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import type { ApiDeps } from '../../api/deps.ts';
import { cancelPost } from '../../api/posts/cancel-post.ts';
import { syncPost } from '../../temporal/sync-post.ts';
import { relayOnce } from '../../worker/relay.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { sharedApi } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { storeChannel, storeUnsynced } from '../support/seed.ts';
import { testLog } from '../support/temporal.ts';

const test = needs('temporal');
const api = sharedApi(test, { patientTemporal: true }); // No worker runs, and so no relay but the test's own.
const dueAt = new Date(Date.now() + 24 * 3_600_000).toISOString();

test('a cancel whose mark comes after that of the start that it overtook is repeated, and the workflow hears of it', async (t) => {
  const { punctual } = api;
  const { workspaceId } = await api.newClient();
  await storeChannel(punctual, workspaceId);
  const postId = await storeUnsynced(punctual, workspaceId, dueAt);
  const silent = { ...punctual.deps, syncPost: () => undefined } as unknown as ApiDeps;
  await cancelPost(silent, { workspaceId, postId });
  const { client: temporal } = punctual.temporal;
  const handle = temporal.workflow.getHandle(postWorkflowId(postId));
  const em = punctual.orm.em.fork();
  const overtaken = { workspaceId, postId, status: 'scheduled', revision: 1, dueAt };
  const cancelled = { workspaceId, postId, status: 'draft', revision: 2, dueAt: null };
  // The cancel hears that there is no workflow; before it marks the row, the start arrives and marks it.
  const signal = async (...args: [never, never]): Promise<void> => {
    const error = await t.throwsAsync(handle.signal(...args), {
      instanceOf: WorkflowNotFoundError,
    });
    await syncPost(temporal, em, overtaken);
    throw error;
  };
  const slow = Object.create(temporal, {
    workflow: { value: { getHandle: () => ({ signal }) } },
  }) as Client;
  await syncPost(slow, em, cancelled);

  await relayOnce({ ...punctual, client: temporal, log: testLog });

  const { events } = await handle.fetchHistory();
  t.deepEqual(
    events?.flatMap((event) => event.workflowExecutionSignaledEventAttributes?.signalName ?? []),
    ['cancel'],
  );
});
