import { findEndpoint } from '../../db/repositories/endpoints.ts';
import { listOf, nullable, record, text, count, dateTime } from '../../domain/json-schema.ts';
import { listDeliveries } from '../../services/webhooks/read-deliveries.ts';
import { loadEndpoints, showEndpoint } from '../../services/webhooks/read-endpoints.ts';
import {
  maxBegun,
  maxReplayed,
  replayDelivery,
  replayFailed,
} from '../../services/webhooks/replay-deliveries.ts';
import {
  rotateSecret,
  createEndpoint,
  deleteEndpoint,
  editEndpoint,
  testEndpoint,
} from '../../services/webhooks/write-endpoints.ts';
import { answersOnce, createdAnswer, idempotencyHeader, requestKey } from '../http/idempotency.ts';
import { deletedAnswer, location, ok, routesWith, type Route, accepted } from '../http/route.ts';
import {
  createdEndpointSchema,
  createEndpointSchema,
  deliverySchema,
  editEndpointSchema,
  endpointSchema,
  deliveriesQuery,
  testedDeliverySchema,
} from './schemas.ts';

const route = routesWith({ tag: 'Webhooks', scope: 'webhooks' });

const sameUrl = {
  ...nullable(text),
  description:
    'Says that another endpoint has the same URL, so that events that both subscribe to are sent there twice.',
};

/** Deliveries in `GET /webhooks/{id}`. */
const newest = 100;

const manyReplays = `A workspace replays at most ${maxReplayed} deliveries a minute; beyond that the answer is 429 \`rate_limited\`.`;

export const webhookRoutes: Route[] = [
  route.get('/webhooks', {
    operationId: 'listWebhooks',
    summary: 'All webhook endpoints',
    description: 'Each with its newest delivery.',
    answers: ok(
      'The endpoints, oldest first, each with its newest delivery.',
      record({ webhooks: listOf(endpointSchema) }),
    ),
    handle: async ({ caller: { workspaceId } }, deps) => {
      const webhooks = await loadEndpoints(deps.orm.em.fork(), workspaceId, deps.now());
      return { status: 200, body: { webhooks } };
    },
  }),
  route.post('/webhooks', {
    operationId: 'createWebhook',
    summary: 'Register a webhook endpoint',
    description: 'The answer has the signing secret, which is shown only once.',
    body: createEndpointSchema,
    bodyExamples: {
      outcomes: {
        summary: 'All outcomes of posts',
        value: {
          url: 'https://example.com/punctual',
          events: ['post.published', 'post.partial', 'post.failed'],
        },
      },
    },
    requestHeaders: idempotencyHeader,
    answers: answersOnce(
      record({ webhook: createdEndpointSchema, warning: sameUrl }),
      'The endpoint, with its signing secret. The secret is not shown again.',
      'The endpoint that this idempotency key created within the last 24 hours, as it was then, with its secret.',
      { Location: location },
    ),
    errors: ['invalid_webhook_url', 'invalid_events', 'webhook_limit_reached'],
    handle: async ({ caller, body, header }, deps) => {
      const key = requestKey(header, 'createWebhook', { by: caller.keyId, ...body });
      const made = await createEndpoint(deps, caller, body, key);
      // An answer that an older version kept has no warning.
      const { endpoint, secret, warning = null, replayed } = made;
      const webhook = { ...endpoint, secret };
      return createdAnswer({ webhook, warning }, replayed, `/api/v1/webhooks/${endpoint.id}`);
    },
  }),
  route.get('/webhooks/{id}', {
    operationId: 'getWebhook',
    summary: 'A webhook endpoint with its newest deliveries',
    description: 'With its newest deliveries; `GET /webhooks/{id}/deliveries` lists all.',
    answers: {
      200: {
        description: `The endpoint and its newest ${newest} deliveries, each with its newest attempts. Older ones: \`GET /webhooks/{id}/deliveries\`.`,
        schema: record({ webhook: endpointSchema, deliveries: listOf(deliverySchema) }),
      },
    },
    handle: async ({ caller: { workspaceId }, params: { id = '' } }, deps) => {
      const em = deps.orm.em.fork();
      const endpoint = await findEndpoint(em, workspaceId, id);
      const webhook = await showEndpoint(em, endpoint, deps.now());
      const { deliveries } = await listDeliveries(em, workspaceId, id, { limit: newest });
      return { status: 200, body: { webhook, deliveries } };
    },
  }),
  route.patch('/webhooks/{id}', {
    operationId: 'updateWebhook',
    summary: 'Change a webhook endpoint',
    description:
      'Only the fields that are sent change. A pending delivery goes to the new URL from its next attempt on; `events` applies to new events. `"enabled": true` enables a disabled endpoint, for another five days; replay the events that it missed with `POST /webhooks/{id}/replay`.',
    body: editEndpointSchema,
    bodyExamples: {
      url: { summary: 'Another URL', value: { url: 'https://example.com/hooks/punctual' } },
      description: { summary: 'Without a description', value: { description: null } },
      enabled: { summary: 'Enabled again', value: { enabled: true } },
    },
    answers: ok('The updated endpoint.', record({ webhook: endpointSchema, warning: sameUrl })),
    errors: ['invalid_webhook_url', 'invalid_events'],
    handle: async ({ caller, params: { id = '' }, body }, deps) => {
      const { endpoint: webhook, warning } = await editEndpoint(deps, caller, id, body);
      return { status: 200, body: { webhook, warning } };
    },
  }),
  route.delete('/webhooks/{id}', {
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook endpoint',
    description:
      'Also deletes its deliveries. Nothing more is sent, except a request that is already under way.',
    answers: ok('The endpoint is deleted, and its pending deliveries have ended.', deletedAnswer),
    handle: async ({ caller, params: { id = '' } }, deps) => {
      await deleteEndpoint(deps, caller, id);
      return { status: 200, body: { ok: true, id } };
    },
  }),
  route.post('/webhooks/{id}/rotate', {
    operationId: 'rotateWebhookSecret',
    summary: 'Replace the signing secret',
    description: [
      'For 24 hours `Service-Signature` still uses the current secret, and `Service-Signature-Next` the',
      'new one, while `webhook-signature` carries both. From `rotates_at` on, only the new one is used. Another call',
      'before that replaces the new secret, restarts the 24 hours and keeps the current secret.',
      'To revoke a secret immediately, register the URL again and delete this endpoint.',
    ].join(' '),
    answers: ok(
      'The endpoint, with its new signing secret. The secret is not shown again.',
      record({ webhook: createdEndpointSchema }),
    ),
    handle: async ({ caller, params: { id = '' } }, deps) => {
      const { endpoint, secret } = await rotateSecret(deps, caller, id);
      return { status: 200, body: { webhook: { ...endpoint, secret } } };
    },
  }),
  route.post('/webhooks/{id}/test', {
    operationId: 'testWebhook',
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
  route.get('/webhooks/{id}/deliveries', {
    operationId: 'listDeliveries',
    summary: 'Deliveries to a webhook endpoint, newest first',
    description:
      'Each is kept for 30 days, unless the operator configured another time, and at least until it has ended.',
    query: deliveriesQuery,
    answers: ok(
      'A page of deliveries, with their newest attempts. `next_cursor` is null at the end.',
      record({ deliveries: listOf(deliverySchema), next_cursor: nullable(text) }),
    ),
    handle: async ({ caller, params: { id = '' }, query }, deps) => ({
      status: 200,
      body: await listDeliveries(deps.orm.em.fork(), caller.workspaceId, id, {
        ...query,
        eventType: query.event_type,
      }),
    }),
  }),
  route.post('/webhooks/{id}/deliveries/{delivery}/replay', {
    operationId: 'replayDelivery',
    summary: 'Replay a delivery',
    description: `Delivers the same event, byte for byte and with the same id, in up to six new attempts, the first one now. Their numbers continue. A pending delivery does not wait for its next attempt any longer. ${manyReplays}`,
    answers: accepted(
      'The delivery, which is pending again.',
      record({ delivery: deliverySchema }),
    ),
    errors: ['delivery_not_final', 'webhook_disabled'],
    handle: async ({ caller, params: { id = '', delivery: deliveryId = '' } }, deps) => {
      const delivery = await replayDelivery(deps, caller, id, deliveryId);
      return { status: 202, body: { delivery } };
    },
  }),
  route.post('/webhooks/{id}/replay', {
    operationId: 'replayFailedDeliveries',
    summary: 'Replay the failed and the waiting deliveries since a time',
    description: `Replays every failed delivery whose \`created_at\` is not before \`since\`, including those that a disabled endpoint missed, and every pending one that waits for its next attempt, each with up to six new attempts. Delivered ones, and those whose attempt is under way or due, are skipped. One call replays at most ${maxBegun}, the failed ones first: call again until it answers 0. ${manyReplays}`,
    query: {
      since: {
        description: 'A past time: RFC 3339 with Z or an offset.',
        required: true,
        schema: dateTime,
      },
    },
    answers: accepted(
      'How many deliveries are sent again.',
      record({
        replaying: {
          ...count,
          maximum: maxBegun,
          description: 'How many deliveries are sent again.',
        },
      }),
    ),
    errors: ['webhook_disabled'],
    handle: async ({ caller, params: { id = '' }, query }, deps) => {
      const replaying = await replayFailed(deps, caller, id, query.since);
      return { status: 202, body: { replaying } };
    },
  }),
];
