import { sql } from 'kysely';
import type { DeliveryStatus } from '../../db/entities/webhooks.ts';
import { query } from '../../db/query.ts';
import type { StoredSecrets } from '../../domain/webhook-deliveries.ts';
import type { WebhookRequest } from '../../runtime/send-webhook.ts';
import type { ActivityDeps } from '../deps.ts';

export type DeliveryRequest = { readonly workspaceId: string; readonly deliveryId: string };

export type LoadedDelivery = Omit<WebhookRequest, 'body'> &
  StoredSecrets & {
    readonly id: string;
    readonly workspaceId: string;
    readonly status: DeliveryStatus;
    /** Attempts of earlier rounds. */
    readonly attemptsBefore: number;
    readonly number: number;
    /** In milliseconds; 0 or less means now. */
    readonly nextAttemptInMs: number;
    /** When it was read, by the database's clock. */
    readonly at: Date;
    readonly endpointId: string;
    readonly isDisabled: boolean;
  };

/** @returns null if it was deleted. */
export async function loadDelivery(
  { orm }: ActivityDeps,
  { workspaceId, deliveryId }: DeliveryRequest,
): Promise<LoadedDelivery | null> {
  const [delivery] = await query<LoadedDelivery>(
    orm.em.fork(),
    sql`select d.id, d.workspace_id as "workspaceId", d.status, d.attempts_before as "attemptsBefore",
        1 + coalesce((select max(number) from delivery_attempts a
          where a.delivery_id = d.id and a.workspace_id = d.workspace_id), 0) as number,
        coalesce((extract(epoch from d.next_attempt_at - clock_timestamp()) * 1000)::float8, 0) as "nextAttemptInMs",
        clock_timestamp() as at, d.endpoint_id as "endpointId", w.disabled_at is not null as "isDisabled",
        w.url, d.event_id as "eventId", e.type as "eventType", w.sealed_secret as "sealedSecret",
        w.secret_hint as "secretHint", w.next_sealed_secret as "nextSealedSecret",
        w.next_secret_hint as "nextSecretHint", w.rotates_at as "rotatesAt"
      from deliveries d
      join webhook_endpoints w on w.id = d.endpoint_id and w.workspace_id = d.workspace_id
      join events e on e.id = d.event_id and e.workspace_id = d.workspace_id
      where d.id = ${deliveryId} and d.workspace_id = ${workspaceId}`,
  );
  return delivery ?? null;
}

/** Reads the event's body, which may have 1 MB: only once a request can be sent. @returns null if it was deleted. */
export async function loadBody(
  { orm }: ActivityDeps,
  { eventId, workspaceId }: LoadedDelivery,
): Promise<string | null> {
  const [row] = await query<{ body: string }>(
    orm.em.fork(),
    sql`select body from events where id = ${eventId} and workspace_id = ${workspaceId}`,
  );
  return row?.body ?? null;
}
