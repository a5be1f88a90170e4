import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { signingSecretPurpose } from '../../db/sealing-purposes.ts';
import { secretsOf } from '../../domain/signing-secrets.ts';
import { sendWebhook } from '../../runtime/webhook-request.ts';
import type { ActivityDeps } from '../deps.ts';
import { loadDelivery, type DeliveryRequest } from './load-delivery.ts';
import { recordAttempt } from './record-attempt.ts';

/**
 * One attempt to deliver an event to an endpoint. How many were made is counted in the database, so that a
 * crash of ours takes none of the receiver's six, and a replay gets six of its own.
 *
 * @throws ApplicationFailure with the delay until the next attempt, while there is one.
 */
export async function attemptDelivery(
  deps: ActivityDeps,
  input: DeliveryRequest,
): Promise<'delivered' | 'failed' | 'gone'> {
  const delivery = await loadDelivery(deps, input);
  if (!delivery) {
    return 'gone';
  }

  if (delivery.status !== 'pending') {
    return delivery.status; // Recorded before, and the answer was lost on the way to Temporal.
  }

  const at = deps.now();
  const purpose = signingSecretPurpose(delivery.endpointId);
  const open = (sealed: string): string => deps.sealer.open(sealed, purpose);
  const secrets = secretsOf(delivery.secrets, at);
  const result = await sendWebhook(deps.egress, delivery, secrets, open, at);
  const outcome = await recordAttempt(deps, delivery, at, result);
  if (outcome.status !== 'pending') {
    return outcome.status;
  }

  const code = result.error ?? 'http_error';
  const answer = result.status === null ? code : `${code} (${result.status})`;
  const nextAt = new Date(deps.now().getTime() + outcome.waitMs).toISOString();
  throw ApplicationFailure.create({
    type: code,
    message: `Attempt ${delivery.attemptsMade + 1}: ${answer}; the next one is at ${nextAt}`,
    nextRetryDelay: outcome.waitMs,
    category: ApplicationFailureCategory.BENIGN,
  });
}
