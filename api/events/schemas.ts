import {
  anyFields,
  count,
  dateTime,
  flag,
  knownId,
  listOf,
  nullable,
  orNull,
  record,
  text,
  uuid,
} from '../../domain/json-schema.ts';
import { eventTypes } from '../../domain/statuses.ts';
import { maxEventsPage, maxWaitS } from '../../services/events/read-events.ts';

const sequence = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER } as const;

const eventFields = {
  id: { ...uuid, description: 'As in the webhook. Skip an event that you have handled.' },
  type: { ...text, description: `One of ${eventTypes.join(', ')}. More may be added.` },
  created_at: dateTime,
  workspace_id: uuid,
  data: { ...anyFields, description: 'As in the webhook of this type.' },
  sequence: {
    ...sequence,
    description:
      'Its place in this list, without gaps in a workspace. Store it, and pass it as `after`.',
  },
  post_id: { ...nullable(uuid), description: 'The post that it is about, if it is about one.' },
  channel_id: {
    ...nullable(uuid),
    description: 'The channel that it is about, if it is about one and not about a post.',
  },
};

export const eventsAnswer = record({
  events: {
    ...listOf(record(eventFields)),
    description: 'The events, in the order of `sequence`.',
  },
  next_after: {
    ...count,
    description: 'The `after` of the next call, also when no event matched.',
  },
  has_more: {
    ...flag,
    description: 'Whether there are more now. A page may be empty nevertheless.',
  },
  missed: {
    ...orNull(record({ from: sequence, to: sequence })),
    description:
      'The events after `after` that are deleted already, by `sequence`: the reader was away for longer than events are kept. Null if there are none.',
  },
});

export const eventAnswer = record({
  event: record({
    ...eventFields,
    sequence: { ...nullable(sequence), description: 'Null until `GET /events` is called.' },
    body: {
      ...text,
      description:
        'The body of the webhook, byte for byte in UTF-8, to check or to make a signature.',
    },
  }),
});

export const eventsQuery = {
  after: {
    description:
      'The `sequence` of your last event, or the `next_after` of the previous answer. Without it, the oldest event that is kept comes first.',
    schema: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  },
  types: {
    description: `Only these event types, separated by commas: ${eventTypes.join(', ')}.`,
    schema: { ...text, examples: ['post.published,post.failed'] },
  },
  post_id: {
    description: 'Only events about this post. One that is not yours finds nothing.',
    schema: knownId,
  },
  from: {
    description: 'Only events whose `created_at` is not before it. RFC 3339 with Z or an offset.',
    schema: dateTime,
  },
  to: { description: 'Only events whose `created_at` is before it.', schema: dateTime },
  limit: {
    description: `The maximum number of events. ${maxEventsPage} if omitted.`,
    schema: { type: 'integer', minimum: 1, maximum: maxEventsPage },
  },
  wait: {
    description:
      'How many seconds an empty call waits for an event. At most ten calls of a key wait at the same time.',
    schema: { type: 'integer', minimum: 0, maximum: maxWaitS },
  },
} as const;
