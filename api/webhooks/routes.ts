import { WebhookEndpoint } from '../../db/entities/webhook-endpoint.ts';
import { AppError } from '../../domain/errors.ts';
import type { ApiDeps } from '../deps.ts';
import type { Route } from '../http/route.ts';
import { location, record } from '../http/shared-schemas.ts';
import { createEndpoint } from './create-endpoint.ts';
import { created, newEndpoints, withDeliveries } from './examples.ts';
import { loadDeliveries, type DeliveryView } from './load-deliveries.ts';
import {
  createdEndpointSchema,
  createEndpointSchema,
  deliverySchema,
  endpointSchema,
  type CreateEndpointBody,
} from './schemas.ts';

/** How many deliveries `GET /webhooks/{id}` shows. */
const newest = 100;

export const webhookRoutes = (deps: ApiDeps): Route[] => [createCall(deps), readCall(deps)];

const createCall = (deps: ApiDeps): Route => ({
  method: 'post',
  path: '/webhooks',
  operationId: 'createWebhook',
  tag: 'Webhooks',
  summary: 'Register a webhook endpoint',
  body: createEndpointSchema,
  bodyExamples: newEndpoints,
  answers: {
    201: {
      description: 'The endpoint, with its signing secret. The secret is not shown again.',
      schema: record({ webhook: createdEndpointSchema }),
      headers: { Location: location },
      examples: { created },
    },
  },
  errors: ['invalid_request', 'invalid_webhook_url', 'invalid_events', 'webhook_limit_reached'],
  handle: async ({ caller, body }) => {
    const request = body as CreateEndpointBody; // Checked against createEndpointSchema.
    const { endpoint, secret } = await createEndpoint(deps, caller.workspaceId, request);
    const webhook = { ...presentEndpoint(endpoint, undefined), secret };
    return {
      status: 201,
      body: { webhook },
      headers: { Location: `/api/v1/webhooks/${endpoint.id}` },
    };
  },
});

const readCall = (deps: ApiDeps): Route => ({
  method: 'get',
  path: '/webhooks/{id}',
  operationId: 'getWebhook',
  tag: 'Webhooks',
  summary: 'A webhook endpoint with its newest deliveries',
  answers: {
    200: {
      description: `The endpoint and its newest ${newest} deliveries, with every attempt.`,
      schema: record({
        webhook: endpointSchema,
        deliveries: { type: 'array', items: deliverySchema },
      }),
      examples: { withDeliveries },
    },
  },
  errors: ['not_found'],
  handle: async ({ caller: { workspaceId }, params: { id = '' } }) => {
    const em = deps.orm.em.fork();
    const endpoint = await em.findOne(WebhookEndpoint, { id, workspaceId });
    if (!endpoint) {
      throw new AppError('not_found', `There is no webhook endpoint "${id}".`);
    }

    const deliveries = await loadDeliveries(em, workspaceId, id, newest);
    return {
      status: 200,
      body: { webhook: presentEndpoint(endpoint, deliveries[0]), deliveries },
    };
  },
});

const presentEndpoint = (endpoint: WebhookEndpoint, last: DeliveryView | undefined) => ({
  id: endpoint.id,
  url: endpoint.url,
  events: endpoint.events,
  description: endpoint.description ?? '',
  secret_hint: endpoint.secretHint,
  created_at: endpoint.createdAt.toISOString(),
  last_delivery: last
    ? {
        status: last.status,
        response_status: last.response_status,
        error: last.error,
        created_at: last.created_at,
      }
    : null,
});
