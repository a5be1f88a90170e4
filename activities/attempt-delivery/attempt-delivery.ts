import { activityInfo, heartbeat } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { sql } from 'kysely';
import { countWaiting } from '../../db/count-waiting.ts';
import type { DeliveryStatus } from '../../db/entities/webhooks.ts';
import { newId } from '../../db/new-id.ts';
import { query } from '../../db/query.ts';
import { signingSecretPurpose } from '../../db/sealing-purposes.ts';
import {
  deliveryWaitMs,
  disableAfterMs,
  longestWaitMs,
  mostInterrupted,
  retryAfterMs,
  secretsOf,
  slotWaitMs,
  type DeliveryError,
} from '../../domain/webhook-deliveries.ts';
import { describeError } from '../../runtime/logger.ts';
import { sendWebhook, type WebhookResult } from '../../runtime/send-webhook.ts';
import type { ActivityDeps } from '../deps.ts';
import { heartbeating } from '../heartbeating.ts';
import { repeatUntil } from '../repeat-until.ts';
import {
  loadBody,
  loadDelivery,
  type DeliveryRequest,
  type LoadedDelivery,
} from './load-delivery.ts';

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

type AttemptOutcome =
  | { readonly status: 'delivered' | 'failed' | 'gone' }
  | { readonly status: 'pending'; readonly waitMs: number };

/** Decides the next status of the delivery and stores it with the attempt's result. @param untilMs Of `repeatUntil`. */
function recordAttempt(
  deps: ActivityDeps,
  delivery: LoadedDelivery,
  result: WebhookResult,
  untilMs: number,
): Promise<AttemptOutcome> {
  const nowMs = delivery.at.getTime() + result.durationMs;
  const next = nextStatus(result, delivery.number - delivery.attemptsBefore, nowMs);
  return repeatUntil(untilMs, () => storeResult(deps, delivery, result, next));
}

type Next = { readonly status: DeliveryStatus; readonly waitMs: number | null };

/** @param number Number of the attempt within its round, from 1. */
function nextStatus({ error, retryAfter }: WebhookResult, number: number, nowMs: number): Next {
  if (error === null) {
    return { status: 'delivered', waitMs: null };
  }

  const askedMs = retryAfterMs(retryAfter, nowMs);
  const waitMs = deliveryWaitMs(number, { askedMs, random: Math.random() });
  return { status: waitMs === null ? 'failed' : 'pending', waitMs };
}

/**
 * A success always counts, also after another execution of the attempt failed, or after the endpoint was disabled. A
 * failure counts only if no other execution has stored the attempt, and only while the delivery is pending.
 *
 * Locks rows in the order endpoint, delivery, attempt, as the deletion of an endpoint does.
 */
async function storeResult(
  deps: ActivityDeps,
  { id, workspaceId, endpointId, number, at }: LoadedDelivery,
  { error, status: responseStatus, durationMs }: WebhookResult,
  { status, waitMs }: Next,
): Promise<AttemptOutcome> {
  const isDelivered = error === null;
  const isFirst = sql`d.status = 'pending' and not exists (
    select from delivery_attempts stored
    where stored.delivery_id = d.id and stored.workspace_id = ${workspaceId} and stored.number >= ${number})`;
  const [row] = await query<{ status: DeliveryStatus | null }>(
    deps.orm.em.fork(),
    sql`with endpoint as (
        update webhook_endpoints set failing_since = ${isDelivered ? sql`null` : sql`${at}::timestamptz`}
        where id = ${endpointId} and workspace_id = ${workspaceId}
          and failing_since is ${isDelivered ? sql`not null` : sql`null`} returning id),
      delivery as (
        update deliveries d set status = ${status}, error = null,
          next_attempt_at = clock_timestamp() + ${waitMs}::int * interval '1 millisecond'
        where d.id = ${id} and d.workspace_id = ${workspaceId} and (select count(*) from endpoint) >= 0
          and ${number}::int > d.attempts_before ${isDelivered ? sql`` : sql`and ${isFirst}`}
        returning d.status),
      attempt as (
        insert into delivery_attempts
          (id, workspace_id, delivery_id, number, created_at, duration_ms, response_status, error)
        select ${newId()}::uuid, d.workspace_id, d.id, ${number}::int, ${at}::timestamptz, ${durationMs}::int,
          ${responseStatus}::int, ${error}::text
        from deliveries d
        where d.id = ${id} and d.workspace_id = ${workspaceId} and (select count(*) from delivery) >= 0
        on conflict (delivery_id, number) do ${
          isDelivered
            ? sql`update set duration_ms = excluded.duration_ms, response_status = excluded.response_status, error = null`
            : sql`nothing`
        })
      select coalesce(
        (select status from delivery),
        (select status from deliveries where id = ${id} and workspace_id = ${workspaceId})) as status`,
  );
  const now = row?.status ?? 'gone';
  return now === 'pending' ? { status: now, waitMs: waitMs ?? 0 } : { status: now };
}

async function failUnsent(
  deps: ActivityDeps,
  { workspaceId, id }: LoadedDelivery,
  error: DeliveryError,
): Promise<void> {
  await query(
    deps.orm.em.fork(),
    sql`update deliveries set status = 'failed', next_attempt_at = null, error = ${error}
      where id = ${id} and workspace_id = ${workspaceId} and status = 'pending'`,
  );
}

/**
 * Disables an endpoint that accepted nothing for five days. Call it when a delivery has used up its attempts: one failed
 * request after days without events is not enough.
 */
async function disableIfDead(
  deps: ActivityDeps,
  { workspaceId, endpointId }: LoadedDelivery,
): Promise<void> {
  const disabled = await query(
    deps.orm.em.fork(),
    sql`update webhook_endpoints set disabled_at = clock_timestamp(), disabled_reason = 'failing'
      where id = ${endpointId} and workspace_id = ${workspaceId} and disabled_at is null
        and failing_since <= clock_timestamp() - ${sql.lit(disableAfterMs)} * interval '1 millisecond' returning id`,
  );
  if (disabled.length > 0) {
    deps.log.warn(
      { endpoint: endpointId, workspace: workspaceId },
      'this webhook endpoint took nothing for five days: it is disabled until its owner enables it',
    );
  }
}
