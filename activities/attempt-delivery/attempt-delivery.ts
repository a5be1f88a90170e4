import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { longestWaitMs, mostInterrupted, slotWaitMs } from '../../domain/webhook-deliveries.ts';
import { secretsOf } from '../../domain/signing-secrets.ts';
import type { Egress } from '../../runtime/egress/egress.ts';
import { sendWebhook, type WebhookResult } from '../../runtime/webhook-request.ts';
import type { ActivityDeps } from '../deps.ts';
import { heartbeating } from '../heartbeating.ts';
import { takeBack, type BegunAttempt } from './begin-attempt.ts';
import { disableIfDead, endUnsent } from './disable-endpoint.ts';
import { insist } from './insist.ts';
import { loadDelivery, type DeliveryRequest, type LoadedDelivery } from './load-delivery.ts';
import { secretOpener } from './open-secret.ts';
import { giveBack, howBusy } from './places.ts';
import { attemptRecorder } from './record-attempt.ts';

/** What came of a request is written down until so shortly before Temporal gives the try up, in milliseconds. */
const lastMs = 5000;

/**
 * One attempt to deliver an event to an endpoint. It is written down before its request, and how many were made is
 * counted in the database, so that a crash of ours takes none of the receiver's six, and a replay gets six of its own.
 *
 * @throws ApplicationFailure with the delay until the next attempt, while there is one.
 */
export async function attemptDelivery(
  deps: ActivityDeps,
  input: DeliveryRequest,
): Promise<'delivered' | 'failed' | 'gone'> {
  return heartbeating(async () => {
    const delivery = await loadDelivery(deps, input);
    if (!delivery) {
      return 'gone';
    }

    if (delivery.status !== 'pending') {
      return delivery.status; // Recorded before, and the answer was lost on the way to Temporal.
    }

    if (delivery.begun) {
      return send(deps, delivery, delivery.begun);
    }

    if (delivery.isDisabled || delivery.interrupted >= mostInterrupted) {
      await endUnsent(deps, delivery, delivery.isDisabled ? 'endpoint_disabled' : 'interrupted');
      return 'failed';
    }

    throw await whyNotNow(deps, delivery);
  });
}

/**
 * A try that comes again after a crash does not know when the next attempt is; the row does.
 *
 * @returns that it is too early, or all places of the endpoint are taken. Neither is an attempt.
 */
async function whyNotNow(
  deps: ActivityDeps,
  delivery: LoadedDelivery,
): Promise<ApplicationFailure> {
  const waitMs = Math.ceil(delivery.nextAttemptInMs);
  if (waitMs > 0 && waitMs <= longestWaitMs) {
    return notNow('too_early', `Nothing was sent: the next attempt is in ${waitMs} ms`, waitMs);
  }

  const lookMs = slotWaitMs(await howBusy(deps, delivery), Math.random());
  const message = 'Nothing was sent: the endpoint has as many requests under way as it gets';
  return notNow('endpoint_busy', message, lookMs);
}

async function send(
  deps: ActivityDeps,
  delivery: LoadedDelivery,
  begun: BegunAttempt,
): Promise<'delivered' | 'failed' | 'gone'> {
  const untilMs = performance.now() + activityInfo().startToCloseTimeoutMs - lastMs;
  const result = await request(deps, delivery, begun);
  const record = attemptRecorder(deps, delivery, begun, result);
  const outcome = await insist(record, untilMs);
  if (outcome.status === 'failed') {
    await disableIfDead(deps, delivery);
  }

  if (outcome.status !== 'pending') {
    return outcome.status;
  }

  const code = result.error ?? 'http_error';
  const answer = result.status === null ? code : `${code} (${result.status})`;
  const nextAt = new Date(Date.now() + outcome.waitMs).toISOString(); // For people who look at it in Temporal.
  const message = `Attempt ${begun.number}: ${answer}; the next one is at ${nextAt}`;
  throw notNow(code, message, outcome.waitMs);
}

/** @throws whatever is no answer of the receiver's, and no fault of the way there. */
async function request(
  deps: ActivityDeps,
  delivery: LoadedDelivery,
  begun: BegunAttempt,
): Promise<WebhookResult> {
  let isSent = false;
  const egress: Egress = {
    ...deps.webhooks,
    request: (asked) => {
      isSent = true;
      return deps.webhooks.request(asked);
    },
  };
  try {
    const open = secretOpener(deps, delivery);
    const secrets = secretsOf(delivery.secrets, begun.at);
    return await sendWebhook(egress, delivery, secrets, open, begun.at);
  } catch (error) {
    // A fault of ours that comes back must not keep the endpoint's places from its other deliveries.
    await (isSent ? giveBack(deps, delivery, begun.place) : takeBack(deps, delivery, begun)).catch(
      () => undefined,
    );
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
