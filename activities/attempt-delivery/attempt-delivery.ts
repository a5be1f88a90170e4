import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { query } from '../../db/query.ts';
import { signingSecretPurpose } from '../../db/sealing-purposes.ts';
import {
  longestWaitMs,
  mostInterrupted,
  secretsOf,
  slotWaitMs,
} from '../../domain/webhook-deliveries.ts';
import type { Egress } from '../../runtime/egress/egress.ts';
import { describeError } from '../../runtime/logger.ts';
import { sendWebhook, type WebhookResult } from '../../runtime/send-webhook.ts';
import type { ActivityDeps } from '../deps.ts';
import { heartbeating } from '../heartbeating.ts';
import {
  disableIfDead,
  failUnsent,
  recordAttempt,
  releaseEndpointSlot,
  undoAttempt,
} from './record-attempt.ts';
import {
  loadAndStartDelivery,
  loadEndpointBacklog,
  type DeliveryRequest,
  type LoadedDelivery,
  type StartedAttempt,
} from './start-attempt.ts';

/** In milliseconds. Stop trying to store a result this long before Temporal's timeout of the attempt. */
const lastMs = 5000;

/**
 * Makes one attempt to deliver an event to an endpoint. The attempt is stored before its request, and the database
 * counts attempts: a crash of a worker costs the receiver none of its six, and a replay gets six new ones.
 *
 * @throws ApplicationFailure with the delay until the next attempt, while attempts are left.
 */
export async function attemptDelivery(
  deps: ActivityDeps,
  input: DeliveryRequest,
): Promise<'delivered' | 'failed' | 'gone'> {
  return heartbeating(async () => {
    const loaded = await loadAndStartDelivery(deps, input);
    if (!loaded) {
      return 'gone';
    }

    const { delivery, attempt } = loaded;
    if (delivery.status !== 'pending') {
      return delivery.status; // An earlier attempt stored it, and Temporal did not receive the result.
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
 * Returns why no attempt may start: it is too early, or all slots of the endpoint are taken. Neither counts as an
 * attempt. The row holds the time of the next attempt, so it survives a crash of the worker.
 */
async function whyNotNow(
  deps: ActivityDeps,
  delivery: LoadedDelivery,
): Promise<ApplicationFailure> {
  const waitMs = Math.ceil(delivery.nextAttemptInMs);
  if (waitMs > 0 && waitMs <= longestWaitMs) {
    return notNow('too_early', `Nothing was sent: the next attempt is in ${waitMs} ms`, waitMs);
  }

  const slotCheckMs = slotWaitMs(await loadEndpointBacklog(deps, delivery), Math.random());
  const message = 'Nothing was sent: all request slots of the endpoint are in use';
  return notNow('endpoint_busy', message, slotCheckMs);
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
  const nextAt = new Date(Date.now() + outcome.waitMs).toISOString(); // Shown in the Temporal UI.
  const message = `Attempt ${attempt.number}: ${answer}; the next one is at ${nextAt}`;
  throw notNow(code, message, outcome.waitMs);
}

/** @throws any error that is not a failed request, for example of a sealed secret. */
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
    // Free the slot: an internal error that repeats must not block other deliveries of the endpoint.
    const leave = isSent
      ? query(deps.orm.em.fork(), releaseEndpointSlot(delivery, attempt))
      : undoAttempt(deps, delivery, attempt);
    await leave.catch(() => undefined);
    throw error;
  }
}

/**
 * Returns a function that opens the sealed secrets of the delivery's endpoint. A failure means that this worker's
 * SECRET_KEY is wrong, so the delivery is retried without losing an attempt.
 *
 * The returned function throws an ApplicationFailure for a secret that it cannot open, and logs the reason.
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
          "Nothing was sent: the endpoint's signing secret cannot be opened with this worker's SECRET_KEY. The delivery is retried.",
      });
    }
  };
}

/** BENIGN: an expected wait, which must not count as a failure of the worker. */
const notNow = (type: string, message: string, waitMs: number): ApplicationFailure =>
  ApplicationFailure.create({
    type,
    message,
    nextRetryDelay: waitMs,
    category: ApplicationFailureCategory.BENIGN,
  });
