import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { isDatabaseAway } from '../../db/is-away.ts';
import { placeWaitMs } from '../../domain/delivery-waits.ts';
import { secretsOf } from '../../domain/signing-secrets.ts';
import { sendWebhook, type WebhookResult } from '../../runtime/webhook-request.ts';
import type { ActivityDeps } from '../deps.ts';
import { disableIfDead, endUnsent } from './disable-endpoint.ts';
import { loadDelivery, type DeliveryRequest, type LoadedDelivery } from './load-delivery.ts';
import { secretOpener } from './open-secret.ts';
import { giveBack, howBusy } from './places.ts';
import { recordAttempt, type AttemptOutcome } from './record-attempt.ts';

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
  const now = deps.now();
  const delivery = await loadDelivery(deps, input, now);
  if (!delivery) {
    return 'gone';
  }

  if (delivery.status !== 'pending') {
    return delivery.status; // Recorded before, and the answer was lost on the way to Temporal.
  }

  if (delivery.isDisabled) {
    await endUnsent(deps, delivery);
    return 'failed';
  }

  await mustBeginNow(deps, delivery, now);
  return send(deps, delivery);
}

/**
 * A try that comes again after a crash does not know when the next attempt is; the row does.
 *
 * @throws ApplicationFailure when it is too early, or all places of the endpoint are taken. Neither is an attempt.
 */
async function mustBeginNow(
  deps: ActivityDeps,
  delivery: LoadedDelivery,
  now: Date,
): Promise<void> {
  const { nextAttemptAt, place } = delivery;
  if (nextAttemptAt !== null && nextAttemptAt > now) {
    const message = `Nothing was sent: the next attempt is at ${nextAttemptAt.toISOString()}`;
    throw notNow('too_early', message, nextAttemptAt.getTime() - now.getTime());
  }

  if (place === null) {
    const waitMs = placeWaitMs(await howBusy(deps, delivery, now), Math.random());
    const message = 'Nothing was sent: the endpoint has as many requests under way as it gets';
    throw notNow('endpoint_busy', message, waitMs);
  }
}

async function send(
  deps: ActivityDeps,
  delivery: LoadedDelivery,
): Promise<'delivered' | 'failed' | 'gone'> {
  const { result, outcome } = await makeAttempt(deps, delivery);
  if (outcome.status === 'failed') {
    await disableIfDead(deps, delivery);
  }

  if (outcome.status !== 'pending') {
    return outcome.status;
  }

  const code = result.error ?? 'http_error';
  const answer = result.status === null ? code : `${code} (${result.status})`;
  const nextAt = new Date(deps.now().getTime() + outcome.waitMs).toISOString();
  const message = `Attempt ${delivery.attemptsMade + 1}: ${answer}; the next one is at ${nextAt}`;
  throw notNow(code, message, outcome.waitMs);
}

type Made = { readonly result: WebhookResult; readonly outcome: AttemptOutcome };

async function makeAttempt(deps: ActivityDeps, delivery: LoadedDelivery): Promise<Made> {
  const at = deps.now();
  const secrets = secretsOf(delivery.secrets, at);
  try {
    const open = secretOpener(deps, delivery);
    const result = await sendWebhook(deps.egress, delivery, secrets, open, at);
    return { result, outcome: await recordAttempt(deps, delivery, at, result) };
  } catch (error) {
    // A fault of ours that comes back must not keep the endpoint's places from its other deliveries.
    if (!isDatabaseAway(error)) {
      await giveBack(deps, delivery).catch(() => undefined);
    }

    throw error;
  }
}

/** Nothing is wrong with the worker. */
const notNow = (type: string, message: string, waitMs: number): ApplicationFailure =>
  ApplicationFailure.create({
    type,
    message,
    nextRetryDelay: waitMs,
    category: ApplicationFailureCategory.BENIGN,
  });
