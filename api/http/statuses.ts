import type { ErrorCode } from '../../domain/errors.ts';

/** What each failure means in HTTP. The one place that decides it. */
export const statusOf: Readonly<Record<ErrorCode, number>> = {
  invalid_request: 400,
  empty_body: 400,
  invalid_channel_ids: 400,
  invalid_scheduled_at: 400,
  no_channels: 400,
  invalid_content: 400,
  idempotency_key_reused: 400,
  invalid_webhook_url: 400,
  invalid_events: 400,
  unauthorized: 401,
  plan_required: 402,
  not_found: 404,
  method_not_allowed: 405,
  webhook_limit_reached: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
};
