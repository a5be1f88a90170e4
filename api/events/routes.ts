import { queryTime } from '../../domain/due-time.ts';
import { AppError } from '../../domain/errors.ts';
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
import { eventTypes, type EventType } from '../../domain/statuses.ts';
import {
  maxEventsPage,
  pullEvents,
  readEvent,
  maxWaitS,
} from '../../services/events/read-events.ts';
import { ok, routesWith, type Route } from '../http/route.ts';

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

const eventsAnswer = record({
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

const eventAnswer = record({
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

const eventsQuery = {
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

const route = routesWith({ tag: 'Webhooks', scope: 'webhooks' });

function readTypes(given: string): EventType[] {
  const known = (name: string): name is EventType =>
    (eventTypes as readonly string[]).includes(name);
  const names = given.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !known(name));
  if (unknown.length > 0) {
    const message = `has unknown types: ${unknown.join(', ')}. Known types: ${eventTypes.join(', ')}`;
    const details = [{ path: '?types', message }];
    throw new AppError('invalid_request', `?types ${message}.`, { details });
  }

  return names.filter(known);
}

export const eventRoutes: Route[] = [
  route.get('/events', {
    operationId: 'listEvents',
    summary: 'Read events, the oldest first, without an endpoint',
    description:
      'All events of the workspace, whether an endpoint subscribes or not. The order is that of the commits and never changes; `created_at` may differ from it by moments. Pass the `next_after` of each answer as `after`: then no event is missed, however late its transaction commits. Events are kept for 30 days, unless the operator configured another time.',
    query: eventsQuery,
    mayWait: true,
    answers: ok('A page of events; an empty one if none came during the wait.', eventsAnswer),
    handle: async ({ caller, query, clientSignal, assertStillAllowed }, deps) => {
      const {
        after = 0,
        limit = maxEventsPage,
        types,
        post_id: postId,
        from,
        to,
        wait = 0,
      } = query;
      const search = {
        after,
        limit,
        types: types === undefined ? [] : readTypes(types),
        postId,
        from: from === undefined ? undefined : queryTime('from', from),
        to: to === undefined ? undefined : queryTime('to', to),
      };
      const stop = deps.stopping.signal;
      const waiting = { waitS: wait, client: clientSignal(), stop, assertStillAllowed };
      return { status: 200, body: await pullEvents(deps, caller.workspaceId, search, waiting) };
    },
  }),
  route.get('/events/{id}', {
    operationId: 'getEvent',
    summary: 'An event, with the body that was signed',
    answers: ok('The event.', eventAnswer),
    handle: async ({ caller: { workspaceId }, params: { id = '' } }, deps) => ({
      status: 200,
      body: { event: await readEvent(deps.orm.em.fork(), workspaceId, id) },
    }),
  }),
];
