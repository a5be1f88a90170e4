import type { Examples } from '../http/route.ts';
import type { DeliveryView } from './load-deliveries.ts';

const delivery: DeliveryView = {
  id: '0192f0d8-4e1a-7b6c-8f93-1d5a7c2e9b48',
  event_id: '0192f0d8-4df2-7a05-9c1e-7b3f6d8a2e57',
  event_type: 'post.partial',
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
  response_status: 204,
  error: null,
  next_attempt_at: null,
  created_at: '2027-03-01T09:00:01.204Z',
};

const endpoint = {
  id: '0192f0b3-6c2d-7f18-a4b7-9e0d3a5c8f21',
  url: 'https://example.com/punctual',
  events: ['post.published', 'post.partial', 'post.failed'],
  description: 'Our newsroom',
  secret_hint: 'whsec_…k3Vx',
  created_at: '2027-01-12T09:00:00.000Z',
  last_delivery: null,
};

export const created = {
  summary: 'With its secret, this once',
  value: { webhook: { ...endpoint, secret: 'whsec_3nX8pQ1rT6vY9bC2dF5gH7jK0mN4k3Vx' } },
};

const { status, response_status, error, created_at } = delivery;
export const withDeliveries = {
  summary: 'One delivery, at the second attempt',
  value: {
    webhook: { ...endpoint, last_delivery: { status, response_status, error, created_at } },
    deliveries: [delivery],
  },
};

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
