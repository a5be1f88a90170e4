import { AppError } from '../../domain/errors.ts';
import { eventTypes, type EventType } from '../../domain/statuses.ts';
import { maxEventsPage, pullEvents, readEvent } from '../../services/events/read-events.ts';
import { queryTime } from '../../domain/due-time.ts';
import { ok, route, type Route } from '../http/route.ts';
import { eventAnswer, eventsAnswer, eventsQuery } from './schemas.ts';

/** @throws AppError `invalid_request` that names the unknown types. */
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
  route({
    method: 'get',
    path: '/events',
    operationId: 'listEvents',
    scope: 'webhooks',
    tag: 'Webhooks',
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
  route({
    method: 'get',
    path: '/events/{id}',
    operationId: 'getEvent',
    scope: 'webhooks',
    tag: 'Webhooks',
    summary: 'An event, with the body that was signed',
    answers: ok('The event.', eventAnswer),
    handle: async ({ caller: { workspaceId }, params: { id = '' } }, deps) => ({
      status: 200,
      body: { event: await readEvent(deps.orm.em.fork(), workspaceId, id) },
    }),
  }),
];
