import type { DeliveryStatus } from '../../db/entities/delivery.ts';
import type { DisabledReason } from '../../domain/webhook-deliveries.ts';
import type { EventType } from '../../domain/post-status.ts';
import { secretsOf, type StoredSecrets } from '../../domain/signing-secrets.ts';

export type LastDelivery = {
  readonly status: DeliveryStatus;
  readonly response_status: number | null;
  readonly error: string | null;
  readonly created_at: string;
};

export type EndpointView = {
  readonly id: string;
  readonly url: string;
  readonly events: readonly EventType[];
  readonly description: string;
  readonly secret_hint: string;
  /** Of the secret that takes over at `rotates_at`; both are null when none is about to. */
  readonly next_secret_hint: string | null;
  readonly rotates_at: string | null;
  /** Whether events are sent to it. */
  readonly enabled: boolean;
  readonly disabled_at: string | null;
  readonly disabled_reason: DisabledReason | null;
  /** The first failed request after which none was taken; null while the newest was. */
  readonly failing_since: string | null;
  readonly created_at: string;
  readonly last_delivery: LastDelivery | null;
};

type StoredEndpoint = StoredSecrets & {
  readonly id: string;
  readonly url: string;
  readonly events: readonly EventType[];
  readonly description: string | null;
  readonly failingSince: Date | null;
  readonly disabledAt: Date | null;
  readonly disabledReason: DisabledReason | null;
  readonly createdAt: Date;
};

/** An endpoint as the API shows it at this moment. */
export function presentEndpoint(
  stored: StoredEndpoint,
  last: LastDelivery | null,
  now: Date,
): EndpointView {
  const { id, url, events, description, createdAt } = stored;
  const { current, next } = secretsOf(stored, now);
  return {
    id,
    url,
    events,
    description: description ?? '',
    secret_hint: current.hint,
    next_secret_hint: next?.hint ?? null,
    rotates_at: next?.rotatesAt.toISOString() ?? null,
    enabled: stored.disabledAt === null,
    disabled_at: stored.disabledAt?.toISOString() ?? null,
    disabled_reason: stored.disabledReason,
    failing_since: stored.failingSince?.toISOString() ?? null,
    created_at: createdAt.toISOString(),
    last_delivery: last,
  };
}
