import type { DeliveryStatus } from '../../db/entities/delivery.ts';

export type DeliveryView = {
  readonly id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly status: DeliveryStatus;
  /** The newest. */
  readonly attempts: readonly {
    readonly number: number;
    readonly created_at: string;
    readonly duration_ms: number;
    readonly response_status: number | null;
    readonly error: string | null;
  }[];
  /** Of all, also those that are not shown. */
  readonly attempt_count: number;
  readonly response_status: number | null;
  readonly error: string | null;
  readonly next_attempt_at: string | null;
  readonly created_at: string;
};
