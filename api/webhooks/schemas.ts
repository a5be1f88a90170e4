import { deliveryStatuses } from '../../db/entities/webhooks.ts';
import {
  count,
  dateTime,
  fields,
  flag,
  listOf,
  nullable,
  oneOf,
  orNull,
  record,
  text,
  uuid,
} from '../../domain/json-schema.ts';
import { everyEvent, eventTypes } from '../../domain/statuses.ts';
import { deliveryErrors, disabledReasons } from '../../domain/webhook-deliveries.ts';
import { cursorQuery } from '../../services/cursor.ts';
import { shownAttempts } from '../../db/delivery-list.ts';
import { maxDeliveriesPage } from '../../services/webhooks/read-deliveries.ts';

const status = oneOf(deliveryStatuses);
const shownStatus = { ...status, description: '`pending`: an attempt is to follow.' };
const responseStatus = {
  ...nullable({ type: 'integer' }),
  description: 'HTTP status, if there was a response.',
};
const deliveryError = {
  ...nullable(text),
  description: `Why it failed: ${deliveryErrors.join(', ')}. More codes may be added.`,
};

export const lastDelivery = record({
  status: shownStatus,
  response_status: responseStatus,
  error: deliveryError,
  created_at: dateTime,
});

const endpointFields = {
  id: uuid,
  url: { ...text, description: 'Where events are sent.' },
  events: listOf(oneOf([...eventTypes, everyEvent])),
  description: { ...text, description: 'A note of yours.' },
  secret_hint: text,
  next_secret_hint: {
    ...nullable(text),
    description:
      'While the secret is being replaced: the hint of the new secret, which is used alone from `rotates_at` on.',
  },
  rotates_at: nullable(dateTime),
  enabled: { ...flag, description: 'Whether events are sent to it.' },
  disabled_at: nullable(dateTime),
  disabled_reason: {
    ...orNull(oneOf(disabledReasons)),
    description:
      '`failing`: it accepted nothing for five days. `requested`: disabled by a PATCH. Its deliveries fail with `endpoint_disabled`, and can be replayed once it is enabled.',
  },
  failing_since: {
    ...nullable(dateTime),
    description:
      'The first failed request since the last accepted one; null if the newest request was accepted.',
  },
  created_at: dateTime,
  last_delivery: orNull(lastDelivery),
};

export const endpointSchema = record(endpointFields);

export const createdEndpointSchema = record({
  ...endpointFields,
  secret: { ...text, description: 'Signs every request. Shown only here.' },
});

export const attempt = record({
  number: { type: 'integer', minimum: 1, description: '1 for the first attempt.' },
  created_at: dateTime,
  duration_ms: count,
  response_status: responseStatus,
  error: deliveryError,
});

const newest = {
  type: 'array',
  maxItems: shownAttempts,
  description: `The newest ${shownAttempts}, in order, without an attempt that is under way.`,
};

const deliveryFields = {
  id: uuid,
  event_id: uuid,
  event_type: text,
  post_id: {
    ...nullable(uuid),
    description: 'The post that the event is about, if it is about one.',
  },
  status: shownStatus,
  attempts: { ...newest, ...listOf(attempt) },
  attempt_count: {
    ...count,
    description: 'How many attempts have ended, including those that are no longer shown.',
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
      "The first 2 KB of the receiver's response as text, with U+FFFD for invalid bytes; null without a response.",
  },
});

const url = {
  ...text,
  description:
    'A public https URL. Stored in its normal form: scheme and host in lower case, the host in punycode, no default port, no fragment.',
};
const events = {
  ...listOf({ ...text, examples: [...eventTypes, everyEvent] }, 50),
  description: `Any of ${eventTypes.join(', ')}. \`${everyEvent}\` subscribes to all of them and to those that are added later.`,
};
const maxDescription = 500;

export const createEndpointSchema = fields(
  {
    url,
    events,
    description: { ...text, maxLength: maxDescription, description: 'A note of yours.' },
  },
  ['url', 'events'],
);

export const editEndpointSchema = fields({
  url,
  events,
  description: {
    ...nullable(text),
    maxLength: maxDescription,
    description: 'Null clears it.',
  },
  enabled: {
    ...flag,
    description: 'False: nothing is sent to it until it is enabled. Missed events can be replayed.',
  },
});

export const deliveriesQuery = {
  status: { description: 'Only deliveries with this status.', schema: status },
  event_type: { description: 'Only deliveries of this event type.', schema: oneOf(eventTypes) },
  limit: {
    description: `The maximum number of deliveries. ${maxDeliveriesPage} if omitted.`,
    schema: { type: 'integer', minimum: 1, maximum: maxDeliveriesPage },
  },
  cursor: cursorQuery,
} as const;
