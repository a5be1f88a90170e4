import { deliveryStatuses } from '../../db/entities/delivery.ts';
import { deliveryErrors, disabledReasons } from '../../domain/webhook-deliveries.ts';
import { eventTypes } from '../../domain/post-status.ts';
import { dateTime, nullable, record, text, uuid } from '../../domain/json-schema.ts';
import { shownAttempts } from './load-deliveries.ts';

const status = { type: 'string', enum: [...deliveryStatuses] };
const responseStatus = {
  ...nullable({ type: 'integer' }),
  description: 'HTTP status, if any came.',
};
const deliveryError = {
  ...nullable(text),
  description: `Why it failed: ${deliveryErrors.join(', ')}. There may be more codes one day.`,
};

const endpointFields = {
  id: uuid,
  url: text,
  events: { type: 'array', items: { type: 'string', enum: [...eventTypes] } },
  description: text,
  secret_hint: text,
  next_secret_hint: {
    ...nullable(text),
    description:
      'While the secret is being replaced: of the new one, which signs alone from `rotates_at` on.',
  },
  rotates_at: nullable(dateTime),
  enabled: { type: 'boolean', description: 'Whether events are sent to it.' },
  disabled_at: nullable(dateTime),
  disabled_reason: {
    anyOf: [{ type: 'string', enum: [...disabledReasons] }, { type: 'null' }],
    description:
      '`failing`: it took nothing for five days, so it was disabled. `requested`: by a PATCH. What it misses counts as failed, with the error `endpoint_disabled`, and can be replayed once it is enabled.',
  },
  failing_since: {
    ...nullable(dateTime),
    description: 'The first failed request after which none was taken; null while the newest was.',
  },
  created_at: dateTime,
  last_delivery: {
    anyOf: [
      record({
        status,
        response_status: responseStatus,
        error: deliveryError,
        created_at: dateTime,
      }),
      { type: 'null' },
    ],
  },
};

export const endpointSchema = record(endpointFields);

export const createdEndpointSchema = record({
  ...endpointFields,
  secret: { type: 'string', description: 'Signs every request. Shown only here.' },
});

const deliveryFields = {
  id: uuid,
  event_id: uuid,
  event_type: text,
  status,
  attempts: {
    type: 'array',
    maxItems: shownAttempts,
    description: `The newest ${shownAttempts}, in order. One that is under way is not among them.`,
    items: record({
      number: { type: 'integer', minimum: 1 },
      created_at: dateTime,
      duration_ms: { type: 'integer', minimum: 0 },
      response_status: responseStatus,
      error: deliveryError,
    }),
  },
  attempt_count: {
    type: 'integer',
    minimum: 0,
    description: 'How many attempts have ended, also those that are not shown any more.',
  },
  response_status: responseStatus,
  error: deliveryError,
  next_attempt_at: nullable(dateTime),
  created_at: dateTime,
};

export const deliverySchema = record(deliveryFields);

export const testedDeliverySchema = record({
  ...deliveryFields,
  response_body: {
    ...nullable(text),
    description:
      "The first 2 KB of the receiver's answer as text, with U+FFFD for what is none; null when there was none.",
  },
});

const url = {
  type: 'string',
  description:
    'A public https URL. It is kept in its normal form: scheme and host in lower case, the host in punycode, no default port, no fragment.',
};
const events = { type: 'array', items: text, description: `Any of ${eventTypes.join(', ')}.` };
const maxDescription = 500;

export const createEndpointSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['url', 'events'],
  properties: { url, events, description: { type: 'string', maxLength: maxDescription } },
};

export type CreateEndpointBody = {
  readonly url: string;
  readonly events: readonly string[];
  readonly description?: string;
};

export const editEndpointSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    url,
    events,
    description: {
      type: ['string', 'null'],
      maxLength: maxDescription,
      description: 'Null clears it.',
    },
    enabled: {
      type: 'boolean',
      description: 'False: nothing is sent to it, until true. What it misses can be replayed.',
    },
  },
};

export type EditEndpointBody = {
  readonly url?: string;
  readonly events?: readonly string[];
  readonly description?: string | null;
  readonly enabled?: boolean;
};
