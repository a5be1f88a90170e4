import { activityInfo, heartbeat } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { countWaiting } from '../../db/count-waiting.ts';
import { signingSecretPurpose } from '../../db/sealing-purposes.ts';
import {
  longestWaitMs,
  mostInterrupted,
  secretsOf,
  slotWaitMs,
} from '../../domain/webhook-deliveries.ts';
import { describeError } from '../../runtime/logger.ts';
import { sendWebhook, type WebhookResult } from '../../runtime/send-webhook.ts';
import type { ActivityDeps } from '../deps.ts';
import { heartbeating } from '../heartbeating.ts';
import {
  loadBody,
  loadDelivery,
  type DeliveryRequest,
  type LoadedDelivery,
} from './load-delivery.ts';
import { disableIfDead, failUnsent, recordAttempt } from './record-attempt.ts';

/** In milliseconds. Stop trying to store a result this long before Temporal's timeout of the attempt. */
const lastMs = 5000;

/** With this many, each delivery already waits half an hour while its endpoint times out. */
const mostCounted = 10_000;

/**
 * An attempt is stored with its result, so one whose worker dies is repeated under its number.
 *
 * @throws ApplicationFailure with the delay until the next attempt, while attempts are left.
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
    return delivery.status; // An earlier attempt stored it, and Temporal did not receive the result.
  }

  const begun = begunBefore(delivery);
  if (delivery.isDisabled || begun >= mostInterrupted) {
    await failUnsent(deps, delivery, delivery.isDisabled ? 'endpoint_disabled' : 'interrupted');
    return 'failed';
  }

  const waitMs = Math.ceil(delivery.nextAttemptInMs);
  // A longer one was stored under a wrong clock.
  if (waitMs > 0 && waitMs <= longestWaitMs) {
    throw notNow('too_early', `Nothing was sent: the next attempt is in ${waitMs} ms`, waitMs);
  }

  const details: Begun = { number: delivery.number, begun: begun + 1 };
  try {
    return await heartbeating(() => send(deps, delivery), details);
  } catch (error) {
    if (!(error instanceof ApplicationFailure)) {
      heartbeat(details);
    }

    throw error;
  }
}

/** Temporal's heartbeat of an attempt without a stored result: its number, and how often it has begun. */
type Begun = { readonly number: number; readonly begun: number };

function begunBefore({ number }: LoadedDelivery): number {
  const last = activityInfo().heartbeatDetails as Begun | undefined;
  return last?.number === number ? last.begun : 0;
}

async function send(
  deps: ActivityDeps,
  delivery: LoadedDelivery,
): Promise<'delivered' | 'failed' | 'gone'> {
  const untilMs = performance.now() + activityInfo().startToCloseTimeoutMs - lastMs;
  const result = await request(deps, delivery);
  if (!result) {
    return 'gone';
  }

  const outcome = await recordAttempt(deps, delivery, result, untilMs);
  if (outcome.status === 'failed') {
    await disableIfDead(deps, delivery);
  }

  if (outcome.status !== 'pending') {
    return outcome.status;
  }

  const code = result.error ?? 'http_error';
  const answer = result.status === null ? code : `${code} (${result.status})`;
  const nextAt = new Date(Date.now() + outcome.waitMs).toISOString(); // Shown in the Temporal UI.
  const message = `Attempt ${delivery.number}: ${answer}; the next one is at ${nextAt}`;
  throw notNow(code, message, outcome.waitMs);
}

/**
 * @returns null if the event was deleted.
 * @throws ApplicationFailure when all slots of the endpoint are taken, which does not count as an attempt.
 */
async function request(
  deps: ActivityDeps,
  delivery: LoadedDelivery,
): Promise<WebhookResult | null> {
  const { endpointId } = delivery;
  const nowMs = (): number => deps.now().getTime();
  const { endpoints } = deps.limits;
  const leave = endpoints.enter(endpointId, nowMs());
  if (!leave) {
    const load = endpoints.load(endpointId, nowMs());
    const waiting = await countWaiting(deps.orm.em.fork(), delivery, mostCounted);
    const message = 'Nothing was sent: all request slots of the endpoint are in use';
    throw notNow('endpoint_busy', message, slotWaitMs({ waiting, ...load }, Math.random()));
  }

  let end: Parameters<typeof leave>[0] = 'unsent';
  try {
    const body = await loadBody(deps, delivery);
    if (body === null) {
      return null;
    }

    const secrets = secretsOf(delivery, delivery.at);
    const open = secretOpener(deps, delivery);
    const whole = { ...delivery, body };
    const result = await sendWebhook(deps.webhooks, whole, secrets, open, delivery.at);
    end = result.error === 'timeout' ? 'timeout' : 'answered';
    return result;
  } finally {
    leave(end, nowMs());
  }
}

/** A secret that it cannot open means another SECRET_KEY, so the delivery is retried without losing an attempt. */
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
