import { deliveryStatuses } from '../../db/entities/delivery.ts';
import { eventTypes } from '../../domain/events.ts';
import { dateTime, nullable, record, text, uuid } from '../http/shared-schemas.ts';

const status = { type: 'string', enum: [...deliveryStatuses] };
const responseStatus = {
  ...nullable({ type: 'integer' }),
  description: 'HTTP status, if any came.',
};
const deliveryError = { ...nullable(text), description: 'A coarse code, such as timeout.' };

const endpointFields = {
  id: uuid,
  url: text,
  events: { type: 'array', items: { type: 'string', enum: [...eventTypes] } },
  description: text,
  secret_hint: text,
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

export const deliverySchema = record({
  id: uuid,
  event_id: uuid,
  event_type: text,
  status,
  attempts: {
    type: 'array',
    items: record({
      number: { type: 'integer', minimum: 1 },
      created_at: dateTime,
      duration_ms: { type: 'integer', minimum: 0 },
      response_status: responseStatus,
      error: deliveryError,
    }),
  },
  response_status: responseStatus,
  error: deliveryError,
  next_attempt_at: nullable(dateTime),
  created_at: dateTime,
});

export const createEndpointSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['url', 'events'],
  properties: {
    url: { type: 'string', description: 'A public https URL.' },
    events: { type: 'array', items: text, description: `Any of ${eventTypes.join(', ')}.` },
    description: { type: 'string', maxLength: 500 },
  },
};

export type CreateEndpointBody = {
  readonly url: string;
  readonly events: readonly string[];
  readonly description?: string;
};
