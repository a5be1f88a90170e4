import { dateTime, record, uuid } from '../http/shared-schemas.ts';
import { sentEvents, type SentEvent } from './events.ts';
import { jsonContent } from './operation.ts';

/** The requests that go out to webhook endpoints (specification, Events), as a `webhooks` map. */
export const outgoingWebhooks = (): object =>
  Object.fromEntries(
    (Object.keys(sentEvents) as SentEvent[]).map((type) => [type, { post: requestOf(type) }]),
  );

function requestOf(type: SentEvent): object {
  const { operationId, when, schema, example } = sentEvents[type];
  const event = record({
    id: uuid,
    type: { type: 'string', const: type },
    created_at: dateTime,
    workspace_id: uuid,
    data: schema,
  });
  const value = {
    id: exampleId,
    type,
    created_at: '2027-03-01T09:00:01.204Z',
    workspace_id: '0192f09f-3b6d-7c81-9e2a-4f8d1c5b7a60',
    data: example,
  };
  return {
    operationId,
    tags: ['Events'],
    summary: when,
    security: [],
    parameters: headersOf(type),
    requestBody: {
      required: true,
      description: 'Byte for byte the same at every attempt and endpoint.',
      content: jsonContent(event, { event: { summary: when, value } }),
    },
    responses: {
      '2XX': { description: 'Delivered. Answer within 10 seconds; the body is not read.' },
      default: {
        description:
          'Anything else, a redirect or none within 10 seconds: tried again after 1 minute, 5 minutes, 30 minutes, 2 hours and 6 hours, then marked failed.',
      },
    },
  };
}

const exampleId = '0192f0d8-4df2-7a05-9c1e-7b3f6d8a2e57';

const headersOf = (type: SentEvent): object[] =>
  [
    ['User-Agent', 'Who sends it.', { type: 'string', const: 'Service-Webhooks/1.0' }],
    ['Service-Event-Id', "The event's id.", { ...uuid, examples: [exampleId] }],
    ['Service-Event-Type', "The event's name.", { type: 'string', const: type }],
    [
      'Service-Timestamp',
      'When this attempt was signed, in Unix seconds.',
      { type: 'string', pattern: '^\\d+$', examples: ['1803891601'] },
    ],
    [
      'Service-Signature',
      'HMAC-SHA256 over `<Service-Timestamp>.<raw body>`, keyed with the signing secret.',
      { type: 'string', pattern: '^sha256=[0-9a-f]{64}$', examples: [`sha256=${'0a'.repeat(32)}`] },
    ],
  ].map(([name, description, schema]) => ({
    name,
    in: 'header',
    required: true,
    description,
    schema,
  }));
