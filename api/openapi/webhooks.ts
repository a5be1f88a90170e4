import { dateTime, record, text, uuid } from '../../domain/json-schema.ts';
import { postSchema } from '../../domain/post-view.ts';
import { eventTypes, type EventType } from '../../domain/statuses.ts';
import { channelFields, disconnectedFields } from '../channels/schemas.ts';
import { examplePost } from '../posts/examples.ts';
import { postAnswer } from '../posts/schemas.ts';
import { blueskyChannel, mastodonChannel, exampleOf, ids } from './example-of.ts';
import { pascal, type SchemaNames } from './name-schemas.ts';

/** The outgoing requests to webhook endpoints (docs/guides/webhooks.md), as a `webhooks` map. */
export const outgoingWebhooks = (schemas: SchemaNames): Readonly<Record<string, object>> =>
  Object.fromEntries(eventTypes.map((type) => [type, { post: requestOf(schemas, type) }]));

function requestOf(schemas: SchemaNames, type: EventType): object {
  const { when, more, schema = postAnswer, example } = sentEvents[type];
  const event = record({
    id: { ...uuid, description: 'The same at every attempt: skip those that you have handled.' },
    type: { type: 'string', const: type, description: 'The name of the event.' },
    created_at: { ...dateTime, description: 'When it happened.' },
    workspace_id: uuid,
    data: { ...schema, description: 'What happened.' },
  });
  const value = {
    id: ids.event,
    type,
    created_at: '2027-03-01T09:00:01.204Z',
    workspace_id: ids.workspace,
    data: example ?? exampleOf(schema),
  };
  return {
    operationId: `receive${pascal(type)}`,
    tags: ['Events'],
    summary: when,
    description: more,
    security: [],
    parameters: headersOf(type),
    requestBody: {
      required: true,
      description: 'Byte for byte the same at every attempt and endpoint.',
      content: schemas.jsonContent(event, `${pascal(type)}Event`, {
        event: { summary: when, value },
      }),
    },
    responses: type === 'webhook.test' ? testAnswers : answers,
  };
}

const answers = {
  '2XX': { description: 'Delivered. Answer within 10 seconds; the body is ignored.' },
  default: {
    description:
      'Any other status, a redirect, or no answer within 10 seconds: retried after 1 minute, 5 minutes, 30 minutes, 2 hours and 6 hours, then marked failed. Each delay is up to a tenth longer, or up to twice as long if `Retry-After` asks for it. An endpoint that accepts nothing for five days is disabled.',
  },
};

const testAnswers = {
  '2XX': {
    description:
      'The test has passed. The caller of the test sees the status and the first 2 KB of the body.',
  },
  default: { description: 'The test has failed. It is not retried.' },
};

const headersOf = (type: EventType): object[] => [
  header('User-Agent', 'The sender.', { type: 'string', const: 'Service-Webhooks/1.0' }),
  header('Service-Event-Id', `The event's id. ${unsigned}`, eventId),
  header('Service-Event-Type', `The event's name. ${unsigned}`, { type: 'string', const: type }),
  header('Service-Timestamp', 'When this attempt was signed, in Unix seconds.', timestamp),
  header(
    'Service-Signature',
    'HMAC-SHA256 over `<Service-Timestamp>.<raw body>`, keyed with the signing secret.',
    signature,
  ),
  header(
    'Service-Signature-Next',
    'The same, keyed with the new secret, while the signing secret is being replaced (`POST /webhooks/{id}/rotate`).',
    signature,
    false,
  ),
  header('webhook-id', "The event's id, for Standard Webhooks libraries.", eventId),
  header('webhook-timestamp', 'As `Service-Timestamp`.', timestamp),
  header(
    'webhook-signature',
    'For Standard Webhooks libraries: HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<raw body>`, keyed with the part of the signing secret after `whsec_`, decoded from Base64. While the secret is being replaced there are two signatures, the new one last.',
    standardSignature,
  ),
];

const unsigned = 'Not signed; the signed body has it too.';
const eventId = { ...uuid, examples: [ids.event] };
const timestamp = { type: 'string', pattern: '^\\d+$', examples: ['1803891601'] };
const signature = {
  type: 'string',
  pattern: '^sha256=[0-9a-f]{64}$',
  examples: [`sha256=${'0a'.repeat(32)}`],
};
const standardSignature = {
  type: 'string',
  pattern: '^v1,[A-Za-z0-9+\\/]{43}=(?: v1,[A-Za-z0-9+\\/]{43}=)?$',
  examples: [`v1,${'0a'.repeat(21)}0=`],
};

const header = (name: string, description: string, schema: object, required = true): object => ({
  name,
  in: 'header',
  required,
  description,
  schema,
});

type EventSpec = {
  readonly when: string;
  readonly more: string;
  /** JSON Schema of the event's `data`: a post unless given. */
  readonly schema?: object;
  /** Example of `data`, where it shows more than one that is made from the schema. */
  readonly example?: object;
};

const unconfirmedToo =
  'An `unconfirmed` channel counts as failed, but the network may have its post. A program that posts again could create a duplicate: check `channels[].status` first, and `url`, which a failed channel has if parts of the post are live. `POST /posts/{id}/retry` sends the post again to failed channels only, not to unconfirmed ones. `POST /posts/{id}/settle` records the outcome of an unconfirmed channel; the post then gets a new final event.';

const published = { status: 'published' } as const;
const { id: channel_id, ...account } = blueskyChannel;
const failed = {
  channel_id,
  ...account,
  status: 'failed',
  error: 'The app password was revoked.',
  error_code: 'access_lost',
  retryable: false,
} as const;
const retrying = {
  status: 'retrying',
  error: 'The network did not answer. The next attempt is at 2027-03-01T09:00:31.000Z.',
  error_code: 'network_unavailable',
  retryable: false,
  retry_at: '2027-03-01T09:00:31.000Z',
} as const;
const removed = {
  status: 'removed',
  unpublish: {
    status: 'removed',
    requested_at: '2027-03-04T12:30:00.000Z',
    error: null,
    error_code: null,
  },
} as const;

const sentEvents: Readonly<Record<EventType, EventSpec>> = {
  'post.scheduled': {
    when: 'The post was scheduled, or has a new time',
    more: 'Not sent for an edit that keeps the time.',
    example: { post: examplePost('scheduled', { status: 'scheduled' }) },
  },
  'post.cancelled': {
    when: 'The post was made a draft: it was cancelled, or an edit removed its time',
    more: 'Channels that were being sent at that moment finish. If all finish, the post has a final event nevertheless.',
    example: { post: examplePost('draft', { status: 'draft' }) },
  },
  'post.retrying': {
    when: 'An attempt on a channel failed, and is repeated automatically',
    more: 'Sent once for each problem of a channel, as `error_code` names it: not again while further attempts meet the same one, nor when the post only waits for its turn.',
    schema: record({ post: postSchema, channel_id: uuid }),
    example: { post: examplePost('publishing', retrying), channel_id: mastodonChannel.id },
  },
  'post.published': {
    when: 'The post went out on every channel',
    more: 'Each channel of the post has the `url` under which it is live.',
    example: { post: examplePost('published', published) },
  },
  'post.partial': {
    when: 'The post went out on some channels and failed or is unconfirmed on others, and retrying has stopped',
    more: unconfirmedToo,
    example: { post: examplePost('failed', published, failed) },
  },
  'post.failed': {
    when: 'The post failed or is unconfirmed on every channel, and retrying has stopped',
    more: unconfirmedToo,
    example: { post: examplePost('failed', failed) },
  },
  'post.unpublished': {
    when: 'The removal of the post from its networks has ended',
    more: '`channels[].unpublish` has the result of each channel.',
    example: { post: examplePost('published', removed) },
  },
  'channel.connected': {
    when: 'A person connected an account, also one that was connected before',
    more: 'The account may have been connected before.',
    schema: record({ channel: record(channelFields) }),
  },
  'channel.at_risk': {
    when: "A channel's access ends within seven days, and only a person can renew it",
    more: '`POST /channels/{id}/reconnect` makes a link for that person.',
    schema: record({ channel: record({ ...channelFields, expires_at: dateTime }) }),
  },
  'channel.needs_reconnect': {
    when: "A channel's access was revoked or has expired",
    more: 'Its posts fail until `POST /channels/{id}/reconnect` has connected it again.',
    schema: record({
      channel: record({
        ...channelFields,
        error: { ...text, description: 'Why the access was lost.' },
      }),
    }),
    example: { channel: { ...mastodonChannel, error: 'The access token was revoked.' } },
  },
  'channel.disconnected': {
    when: 'An account was disconnected',
    more: 'Its scheduled posts and drafts lost the channel.',
    schema: record(disconnectedFields),
  },
  'webhook.test': {
    when: '`POST /webhooks/{id}/test` was called for this endpoint',
    more: 'Answer it as you would answer any other event.',
    schema: record({
      webhook: record({ id: uuid, url: { ...text, description: 'Where it was sent.' } }),
    }),
  },
};
