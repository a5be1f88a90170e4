import { ApplicationFailure } from '@temporalio/common';
import { signingSecretPurpose } from '../../db/sealing-purposes.ts';
import { describeError } from '../../runtime/describe-error.ts';
import type { ActivityDeps } from '../deps.ts';
import type { LoadedDelivery } from './load-delivery.ts';

/**
 * Opens the sealed secrets of a delivery's endpoint. When that fails, our own SECRET_KEY is wrong and no receiver: the
 * delivery waits, is tried again and again, and loses no attempt.
 *
 * @returns a function that throws an ApplicationFailure for what it cannot open. The log has the reason.
 */
export function secretOpener(
  { sealer, log }: ActivityDeps,
  { id, workspaceId, endpointId }: LoadedDelivery,
): (sealed: string) => string {
  const purpose = signingSecretPurpose(endpointId);
  return (sealed) => {
    try {
      return sealer.open(sealed, purpose);
    } catch (error) {
      const whose = { delivery: id, endpoint: endpointId, workspace: workspaceId };
      log.error(
        { ...whose, error: describeError(error) },
        "this delivery waits: its endpoint's signing secret cannot be opened with this SECRET_KEY",
      );
      throw ApplicationFailure.create({
        type: 'secret_unreadable',
        message:
          "Nothing was sent: the endpoint's signing secret cannot be opened with this worker's SECRET_KEY. It is tried again.",
      });
    }
  };
}
