import { dateTime, listOf, nullable, record, text } from '../../domain/json-schema.ts';
import { listDeliveries } from '../../services/webhooks/read-deliveries.ts';
import {
  maxBegun,
  maxReplayed,
  replayDelivery,
  replayFailed,
} from '../../services/webhooks/replay-deliveries.ts';
import { testEndpoint } from '../../services/webhooks/test-endpoint.ts';
import { ok, route, type Route } from '../http/route.ts';
import { deliveriesQuery, deliverySchema, testedDeliverySchema } from './schemas.ts';

const manyReplays = `A workspace replays at most ${maxReplayed} deliveries a minute; beyond that the answer is 429 \`rate_limited\`.`;

export const deliveryRoutes: Route[] = [
  route({
    method: 'post',
    path: '/webhooks/{id}/test',
    operationId: 'testWebhook',
    tag: 'Webhooks',
    scope: 'webhooks',
    summary: 'Send a webhook.test event now and show the response',
    description:
      'One attempt without retries, regardless of the subscribed events, also for a disabled endpoint. Answers when the receiver does, after at most 10 seconds. The result does not affect the endpoint.',
    answers: ok(
      'The result of the delivery, also when the receiver failed.',
      record({ delivery: testedDeliverySchema }),
    ),
    handle: async ({ caller, params: { id = '' } }, deps) => {
      const delivery = await testEndpoint(deps, caller, id);
      return { status: 200, body: { delivery } };
    },
  }),
  route({
    method: 'get',
    path: '/webhooks/{id}/deliveries',
    operationId: 'listDeliveries',
    tag: 'Webhooks',
    scope: 'webhooks',
    summary: 'Deliveries to a webhook endpoint, newest first',
    description:
      'Each is kept for 30 days, unless the operator configured another time, and at least until it has ended.',
    query: deliveriesQuery,
    answers: ok(
      'A page of deliveries, with their newest attempts. `next_cursor` is null at the end.',
      record({
        deliveries: listOf(deliverySchema),
        next_cursor: nullable(text),
      }),
    ),
    handle: async ({ caller, params: { id = '' }, query }, deps) => ({
      status: 200,
      body: await listDeliveries(deps.orm.em.fork(), caller.workspaceId, id, {
        ...query,
        eventType: query.event_type,
      }),
    }),
  }),
  route({
    method: 'post',
    path: '/webhooks/{id}/deliveries/{delivery}/replay',
    operationId: 'replayDelivery',
    tag: 'Webhooks',
    scope: 'webhooks',
    summary: 'Replay a delivery',
    description: `Delivers the same event, byte for byte and with the same id, in up to six new attempts, the first one now. Their numbers continue. A pending delivery does not wait for its next attempt any longer. ${manyReplays}`,
    answers: {
      202: {
        description: 'The delivery, which is pending again.',
        schema: record({ delivery: deliverySchema }),
      },
    },
    errors: ['delivery_not_final', 'webhook_disabled'],
    handle: async ({ caller, params: { id = '', delivery: deliveryId = '' } }, deps) => {
      const { delivery, toSync } = await replayDelivery(deps, caller, id, deliveryId);
      toSync.forEach(deps.syncDelivery);
      return { status: 202, body: { delivery } };
    },
  }),
  route({
    method: 'post',
    path: '/webhooks/{id}/replay',
    operationId: 'replayFailedDeliveries',
    tag: 'Webhooks',
    scope: 'webhooks',
    summary: 'Replay the failed and the waiting deliveries since a time',
    description: `Replays every failed delivery whose \`created_at\` is not before \`since\`, including those that a disabled endpoint missed, and every pending one that waits for its next attempt, each with up to six new attempts. Delivered ones, and those whose attempt is under way or due, are skipped. One call replays at most ${maxBegun}, the failed ones first: call again until it answers 0. ${manyReplays}`,
    query: {
      since: {
        description: 'A past time: RFC 3339 with Z or an offset.',
        required: true,
        schema: dateTime,
      },
    },
    answers: {
      202: {
        description: 'How many deliveries are sent again.',
        schema: record({
          replaying: {
            type: 'integer',
            minimum: 0,
            maximum: maxBegun,
            description: 'How many deliveries are sent again.',
          },
        }),
      },
    },
    errors: ['webhook_disabled'],
    handle: async ({ caller, params: { id = '' }, query }, deps) => {
      const { replaying, toSync } = await replayFailed(deps, caller, id, query.since);
      toSync.forEach(deps.syncDelivery);
      return { status: 202, body: { replaying } };
    },
  }),
];
