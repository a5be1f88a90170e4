import type { DeliveryView } from '../../services/webhooks/read-deliveries.ts';
import type { EndpointView } from '../../services/webhooks/read-endpoints.ts';
import type { Examples } from '../http/route.ts';

const delivery: DeliveryView = {
  id: '0192f0d8-4e1a-7b6c-8f93-1d5a7c2e9b48',
  event_id: '0192f0d8-4df2-7a05-9c1e-7b3f6d8a2e57',
  event_type: 'post.partial',
  post_id: '0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d',
  status: 'delivered',
  attempts: [
    {
      number: 1,
      created_at: '2027-03-01T09:00:01.310Z',
      duration_ms: 10_000,
      response_status: null,
      error: 'timeout',
    },
    {
      number: 2,
      created_at: '2027-03-01T09:01:11.402Z',
      duration_ms: 84,
      response_status: 204,
      error: null,
    },
  ],
  attempt_count: 2,
  response_status: 204,
  error: null,
  next_attempt_at: null,
  created_at: '2027-03-01T09:00:01.204Z',
};

const endpoint: EndpointView = {
  id: '0192f0b3-6c2d-7f18-a4b7-9e0d3a5c8f21',
  url: 'https://example.com/punctual',
  events: ['post.published', 'post.partial', 'post.failed'],
  description: 'Our newsroom',
  secret_hint: 'whsec_…k3Vx',
  next_secret_hint: null,
  rotates_at: null,
  enabled: true,
  disabled_at: null,
  disabled_reason: null,
  failing_since: null,
  created_at: '2027-01-12T09:00:00.000Z',
  last_delivery: null,
};

export const created = {
  summary: 'With its secret, shown only now',
  value: {
    webhook: { ...endpoint, secret: 'whsec_3nX8pQ1rT6vY9bC2dF5gH7jK0mN4k3Vx' },
    warning: null,
  },
};

const { status, response_status, error, created_at } = delivery;
const delivered: EndpointView = {
  ...endpoint,
  last_delivery: { status, response_status, error, created_at },
};

export const withDeliveries = {
  summary: 'One delivery, at the second attempt',
  value: { webhook: delivered, deliveries: [delivery] },
};

export const all = { summary: 'One endpoint', value: { webhooks: [delivered] } };

export const edited = {
  summary: 'With another URL',
  value: {
    webhook: { ...delivered, url: 'https://example.com/hooks/punctual' },
    warning: null,
  },
};

export const deleted = { summary: 'Deleted', value: { ok: true, id: endpoint.id } };

export const rotated = {
  summary: 'With the new secret, shown only now',
  value: {
    webhook: {
      ...delivered,
      next_secret_hint: 'whsec_…p7Qd',
      rotates_at: '2027-03-02T10:00:00.000Z',
      secret: 'whsec_Zt4uW8xA1bE6fG9hJ2kL5mN0oR3sp7Qd',
    },
  },
};

export const page = {
  summary: 'The last page',
  value: { deliveries: [delivery], next_cursor: null },
};

export const tested = {
  summary: 'The receiver failed',
  value: {
    delivery: {
      id: '0192f0e2-91c4-7d3a-b5e8-6a0f2c4d8e13',
      event_id: '0192f0e2-91a0-7e51-8c6b-3d9e5f7a1b24',
      event_type: 'webhook.test',
      post_id: null,
      status: 'failed',
      attempts: [
        {
          number: 1,
          created_at: '2027-03-01T09:10:00.000Z',
          duration_ms: 57,
          response_status: 500,
          error: 'http_error',
        },
      ],
      attempt_count: 1,
      response_status: 500,
      error: 'http_error',
      next_attempt_at: null,
      created_at: '2027-03-01T09:10:00.000Z',
      response_body: 'Cannot read the secret: PUNCTUAL_SECRET is not set',
    },
  },
};

export const replayed = {
  summary: 'Pending again',
  value: {
    delivery: { ...delivery, status: 'pending', next_attempt_at: '2027-03-01T12:00:00.000Z' },
  },
};

export const replaying = { summary: 'Three failed or wait', value: { replaying: 3 } };

export const newEndpoints: Examples = {
  outcomes: {
    summary: 'All outcomes of posts',
    value: {
      url: endpoint.url,
      events: endpoint.events,
      description: endpoint.description,
    },
  },
};

export const edits: Examples = {
  url: { summary: 'Another URL', value: { url: 'https://example.com/hooks/punctual' } },
  description: { summary: 'Without a description', value: { description: null } },
  enabled: { summary: 'Enabled again', value: { enabled: true } },
};
