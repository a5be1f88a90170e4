import { proxyActivities, setCurrentDetails, setHandler } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { upsertIfSearchable } from './mark-end.ts';
import { replay, webhooksQueue, type DeliverWebhookInput } from './messages.ts';
import { errorCodesKey } from './search-attributes.ts';

const { attemptDelivery } = proxyActivities<Activities>({
  taskQueue: webhooksQueue,
  summary: 'POST to the endpoint',
  // A request may take 10 s; the rest is for our own database, which may stall while its outcome is written down.
  startToCloseTimeout: '90 seconds',
  // A killed worker is noticed this soon. A try first heartbeats after 5 s, so a usual one records none.
  heartbeatTimeout: '20 seconds',
  // The waits between attempts come with each failure (nextRetryDelay) and a round's sixth attempt ends it, both
  // counted in the database. These are for what cannot carry a delay: a crash, a database that is away, another
  // SECRET_KEY. Looks for a free place count as tries too: an event that looked often waits the longest interval.
  retry: { initialInterval: '5 seconds', backoffCoefficient: 2, maximumInterval: '2 minutes' },
});

type Outcome = 'delivered' | 'failed' | 'gone';

/**
 * Delivers one event to one endpoint: one activity with six attempts, which costs 11 events of history. A replay
 * comes by `signalWithStart`, so it reaches a workflow that is about to end as surely as one that never was.
 */
export async function deliverWebhook(input: DeliverWebhookInput): Promise<Outcome> {
  const { workspaceId, deliveryId, round = 1 } = input;
  let asked = round;
  setHandler(
    replay,
    (heard) => {
      asked = Math.max(asked, heard.round);
    },
    { description: 'Deliver once more: {round}.' },
  );
  for (;;) {
    const begun = asked;
    setCurrentDetails(
      `Being delivered (round ${begun}). Which attempt it is, why the last one failed and when the next one is stands at the pending activity.\n\nWorkspace \`${workspaceId}\`.`,
    );
    const status = await attemptDelivery({ workspaceId, deliveryId });
    setCurrentDetails(
      `The delivery is **${status}** (round ${begun}).\n\nWorkspace \`${workspaceId}\`.`,
    );
    if (asked === begun) {
      upsertIfSearchable(
        status === 'failed' ? [{ key: errorCodesKey, value: ['webhook_failed'] }] : [],
      );
      return status;
    }
  }
}
