import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { query } from '../../db/query.ts';
import { signingSecretPurpose } from '../../db/sealing-purposes.ts';
import { secretsOf } from '../../domain/signing-secrets.ts';
import { longestWaitMs, mostInterrupted, slotWaitMs } from '../../domain/webhook-deliveries.ts';
import { describeError } from '../../runtime/logger.ts';
import type { Egress } from '../../runtime/egress/egress.ts';
import { sendWebhook, type WebhookResult } from '../../runtime/send-webhook.ts';
import type { ActivityDeps } from '../deps.ts';
import { heartbeating } from '../heartbeating.ts';
import { disableIfDead, failUnsent, recordAttempt } from './record-attempt.ts';
import { howBusy, releaseSlot } from './slots.ts';
import {
  loadAndStart,
  slotOf,
  takeBack,
  type DeliveryRequest,
  type LoadedDelivery,
  type StartedAttempt,
} from './start-attempt.ts';

/** A result is stored until so shortly before Temporal gives the try up, in milliseconds. */
const lastMs = 5000;

/**
 * One attempt to deliver an event to an endpoint. It is stored before its request, and how many were made is counted in
 * the database, so that a crash of ours takes none of the receiver's six, and a replay gets six of its own.
 *
 * @throws ApplicationFailure with the delay until the next attempt, while there is one.
 */
export async function attemptDelivery(
  deps: ActivityDeps,
  input: DeliveryRequest,
): Promise<'delivered' | 'failed' | 'gone'> {
  return heartbeating(async () => {
    const loaded = await loadAndStart(deps, input);
    if (!loaded) {
      return 'gone';
    }

    const { delivery, attempt } = loaded;
    if (delivery.status !== 'pending') {
      return delivery.status; // Stored before, and the answer was lost on the way to Temporal.
    }

    if (attempt) {
      return send(deps, delivery, attempt);
    }

    if (delivery.isDisabled || delivery.interrupted >= mostInterrupted) {
      await failUnsent(deps, delivery, delivery.isDisabled ? 'endpoint_disabled' : 'interrupted');
      return 'failed';
    }

    throw await whyNotNow(deps, delivery);
  });
}

/**
 * A try that comes again after a crash does not know when the next attempt is; the row does.
 *
 * @returns that it is too early, or all slots of the endpoint are taken. Neither is an attempt.
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
  attempt: StartedAttempt,
): Promise<'delivered' | 'failed' | 'gone'> {
  const untilMs = performance.now() + activityInfo().startToCloseTimeoutMs - lastMs;
  const result = await request(deps, delivery, attempt);
  const outcome = await recordAttempt(deps, delivery, attempt, result, untilMs);
  if (outcome.status === 'failed') {
    await disableIfDead(deps, delivery);
  }

  if (outcome.status !== 'pending') {
    return outcome.status;
  }

  const code = result.error ?? 'http_error';
  const answer = result.status === null ? code : `${code} (${result.status})`;
  const nextAt = new Date(Date.now() + outcome.waitMs).toISOString(); // For people who look at it in Temporal.
  const message = `Attempt ${attempt.number}: ${answer}; the next one is at ${nextAt}`;
  throw notNow(code, message, outcome.waitMs);
}

/** @throws what is neither an answer of the receiver nor a failure on the way there. */
async function request(
  deps: ActivityDeps,
  delivery: LoadedDelivery,
  attempt: StartedAttempt,
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
    const secrets = secretsOf(delivery.secrets, attempt.at);
    return await sendWebhook(egress, delivery, secrets, open, attempt.at);
  } catch (error) {
    // A fault of ours that comes back must not keep the endpoint's slots from its other deliveries.
    const leave = isSent
      ? query(deps.orm.em.fork(), releaseSlot(slotOf(delivery, attempt)))
      : takeBack(deps, delivery, attempt);
    await leave.catch(() => undefined);
    throw error;
  }
}

/**
 * Opens the sealed secrets of a delivery's endpoint. When that fails, our own SECRET_KEY is wrong and no receiver: the
 * delivery waits, is tried again and again, and loses no attempt.
 *
 * @returns a function that throws an ApplicationFailure for what it cannot open. The log has the reason.
 */
function secretOpener(
  { sealer, log }: ActivityDeps,
  { id, workspaceId, endpointId }: LoadedDelivery,
): (sealed: string) => string {
  const purpose = signingSecretPurpose(endpointId);
  return (sealed) => {
    try {
      return sealer.open(sealed, purpose);
    } catch (error) {
      log.error(
        { delivery: id, endpoint: endpointId, workspace: workspaceId, error: describeError(error) },
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

/** Nothing is wrong with the worker. */
const notNow = (type: string, message: string, waitMs: number): ApplicationFailure =>
  ApplicationFailure.create({
    type,
    message,
    nextRetryDelay: waitMs,
    category: ApplicationFailureCategory.BENIGN,
  });
