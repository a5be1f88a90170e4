import { listOf, nullable, record, text } from '../../domain/json-schema.ts';
import { listDeliveries } from '../../services/webhooks/read-deliveries.ts';
import { loadEndpoint, loadEndpoints } from '../../services/webhooks/read-endpoints.ts';
import {
  rotateSecret,
  createEndpoint,
  deleteEndpoint,
  editEndpoint,
} from '../../services/webhooks/write-endpoints.ts';
import { answersOnce, createdAnswer, idempotencyHeader, requestKey } from '../http/idempotency.ts';
import { deletedAnswer, location, ok, route, type Route } from '../http/route.ts';
import {
  createdEndpointSchema,
  createEndpointSchema,
  deliverySchema,
  editEndpointSchema,
  endpointSchema,
} from './schemas.ts';

const sameUrl = {
  ...nullable(text),
  description:
    'Says that another endpoint has the same URL, so that events that both subscribe to are sent there twice.',
};

/** Deliveries in `GET /webhooks/{id}`. */
const newest = 100;

export const endpointRoutes: Route[] = [
  route({
    method: 'get',
    path: '/webhooks',
    operationId: 'listWebhooks',
    tag: 'Webhooks',
    scope: 'webhooks',
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
  route({
    method: 'post',
    path: '/webhooks',
    operationId: 'createWebhook',
    tag: 'Webhooks',
    scope: 'webhooks',
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
  route({
    method: 'get',
    path: '/webhooks/{id}',
    operationId: 'getWebhook',
    tag: 'Webhooks',
    scope: 'webhooks',
    summary: 'A webhook endpoint with its newest deliveries',
    description: 'With its newest deliveries; `GET /webhooks/{id}/deliveries` lists all.',
    answers: {
      200: {
        description: `The endpoint and its newest ${newest} deliveries, each with its newest attempts. Older ones: \`GET /webhooks/{id}/deliveries\`.`,
        schema: record({
          webhook: endpointSchema,
          deliveries: listOf(deliverySchema),
        }),
      },
    },
    handle: async ({ caller: { workspaceId }, params: { id = '' } }, deps) => {
      const em = deps.orm.em.fork();
      const webhook = await loadEndpoint(em, workspaceId, deps.now(), id);
      const { deliveries } = await listDeliveries(em, workspaceId, id, { limit: newest });
      return { status: 200, body: { webhook, deliveries } };
    },
  }),
  route({
    method: 'patch',
    path: '/webhooks/{id}',
    operationId: 'updateWebhook',
    tag: 'Webhooks',
    scope: 'webhooks',
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
  route({
    method: 'delete',
    path: '/webhooks/{id}',
    operationId: 'deleteWebhook',
    tag: 'Webhooks',
    scope: 'webhooks',
    summary: 'Delete a webhook endpoint',
    description:
      'Also deletes its deliveries. Nothing more is sent, except a request that is already under way.',
    answers: ok('The endpoint is deleted, and its pending deliveries have ended.', deletedAnswer),
    handle: async ({ caller, params: { id = '' } }, deps) => {
      await deleteEndpoint(deps, caller, id);
      return { status: 200, body: { ok: true, id } };
    },
  }),
  route({
    method: 'post',
    path: '/webhooks/{id}/rotate',
    operationId: 'rotateWebhookSecret',
    tag: 'Webhooks',
    scope: 'webhooks',
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
];
