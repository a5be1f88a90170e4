/** A JSON Schema, as far as the document needs it. */
export type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly const?: unknown;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
};

/** Ids by what has them. */
export const ids = {
  post: '0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d',
  channel: '0192f0a1-7c3e-7b52-8d4f-2a9c6e1b0f31',
  key: '0192f0d1-2b7c-7e4a-8f35-1c9d6e2a4b80',
  media: '0192f0c1-2b4d-7e6f-8a90-1c3d5e7f9b0a',
  webhook: '0192f0b3-6c2d-7f18-a4b7-9e0d3a5c8f21',
  delivery: '0192f0d8-4e1a-7b6c-8f93-1d5a7c2e9b48',
  event: '0192f0d8-4df2-7a05-9c1e-7b3f6d8a2e57',
  link: '0192f0e9-3c5d-7a1f-8e2b-4d6f8a0c2e41',
  workspace: '0192f09f-3b6d-7c81-9e2a-4f8d1c5b7a60',
};

/** For the examples of posts. */
export const mastodonChannel = {
  id: ids.channel,
  platform: 'mastodon',
  handle: '@ana@social.example',
} as const;

export const blueskyChannel = {
  id: '0192f0a2-1d4b-7e90-a6c8-5b3f7d2e9a14',
  platform: 'bluesky',
  handle: 'ana.example.com',
} as const;

/** Values of fields by their names, perhaps with the name of their object. Any other nullable field is null. */
const known: Readonly<Record<string, unknown>> = {
  platform: 'mastodon',
  handle: '@ana@social.example',
  display_name: 'Ana',
  profile_url: 'https://social.example/@ana',
  server: 'social.example',
  sandbox: false,
  'channel.options': { visibility: 'unlisted' },
  'channel.unpublish': null,
  'channel.status': 'published',
  'post_target.status': 'published',
  'channel.errors': [],
  'channel.length': 27,
  'channel.limit': 500,
  'channel.unit': 'characters',
  'channel.price_usd': 0,
  'text.length': 27,
  'text.limit': 500,
  'text.unit': 'characters',
  warnings: [],
  'post.outcome': 'published',
  'post.status': 'published',
  'post.scheduled_at': '2027-03-01T09:00:00.000Z',
  'post.published_at': '2027-03-01T09:00:00.731Z',
  'post.media': [],
  'post.video': null,
  'post.external_id': 'cms-1042',
  tags: ['album'],
  metadata: { campaign: 'spring' },
  summary: { published: 1, failed: 0, pending: 0, removed: 0 },
  link: 'https://punctual.example/connect/7Fq2LkX0aZr9WcT4sYb1NvE8uHj3MdP6',
  link_id: ids.link,
  plan: 'standard',
  'workspace.name': 'Ana & Co',
  'brand.name': 'Album',
  color: '#1f5fbf',
  'key.name': 'Newsroom, drafts only',
  'key.channel_ids': [ids.channel],
  'key.key': 'svc_live_0Yb2cD4eF6gH8iJ0kL2mN4oP6qR8x7Qa',
  last_four: 'x7Qa',
  scopes: ['posts:read', 'posts:write', 'media'],
  'media.type': 'image/jpeg',
  'media.url': 'https://punctual.example/files/q1W2e3R4t5Y6u7I8o9P0a1S2d3F4g5H6/harbour.jpg',
  'media.name': 'harbour.jpg',
  size_bytes: 482_113,
  width: 1600,
  height: 1067,
  alt_text: 'Fishing boats in a harbour, at dusk.',
  'webhook.url': 'https://example.com/punctual',
  'webhook.events': ['post.published', 'post.partial', 'post.failed'],
  description: 'Our newsroom',
  secret_hint: 'whsec_…k3Vx',
  secret: 'whsec_3nX8pQ1rT6vY9bC2dF5gH7jK0mN4k3Vx',
  event_type: 'post.partial',
  'delivery.status': 'delivered',
  'last_delivery.status': 'delivered',
  response_status: 204,
  response_body: 'Thank you',
  'attempt.duration_ms': 84,
  'event.type': 'channel.disconnected',
  'event.data': {
    channel: { id: ids.channel, platform: 'mastodon', handle: '@ana@social.example' },
    scheduled_posts: 12,
  },
  'event.body': '{"id":"0192f0d8-4df2-7a05-9c1e-7b3f6d8a2e57", …}',
  'actor.id': ids.key,
  action: 'post.cancelled',
  object_type: 'post',
  object_id: ids.post,
  request_id: 'a3f1c2d4-5b6e-4f70-8192-a3b4c5d6e7f8',
  address: '203.0.113.7',
  body: 'The new album is out today.',
  url: 'https://social.example/@ana/114090312345678901',
  timezone: 'Europe/Berlin',
  counting: 'Grapheme clusters: characters as people see them.',
  kind: 'image',
  types: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'],
  'network.required': [],
  'network.options': { type: 'object', properties: { sensitive: { type: 'boolean' } } },
  'field.name': 'url',
  label: 'Your server',
  placeholder: 'https://mastodon.social',
  limit: 10_000,
  requests: 120,
  writes: 60,
  max_count: 4,
  max_bytes: 16_777_216,
  max_alt_text: 1500,
  impressions: 1200,
  likes: 41,
  comments: 6,
  shares: 9,
  saves: 0,
  engagement: 56,
  body_truncated: false,
  missed: null,
  has_more: false,
};

/**
 * Makes a value that fits a schema, for the examples of the document.
 *
 * @param name Of the field that has it, in the singular. @param place The name of the object around it.
 */
export function exampleOf(given: object, name = '', place = ''): unknown {
  const { const: only, enum: values, properties, items, anyOf, ...schema } = given as Schema;
  const key = [`${place}.${name}`, name].find((one) => Object.hasOwn(known, one));
  if (properties && typeof known[key ?? ''] !== 'object') {
    const parts = Object.entries(properties);
    return Object.fromEntries(
      parts.map(([field, part]) => [field, exampleOf(part, field, name || place)]),
    );
  }

  if (only !== undefined || key !== undefined) {
    return only ?? known[key ?? ''];
  }

  const [part] = anyOf ?? [];
  if (part || Array.isArray(schema.type)) {
    return part?.properties ? exampleOf(part, name, place) : null;
  }

  return items
    ? [exampleOf(items, name.replace(/ies$/v, 'y').replace(/s$/v, ''))]
    : (values?.[0] ?? simplest(schema, name, place));
}

function simplest({ type, format, minimum = 1 }: Schema, name: string, place: string): unknown {
  if (format === 'uuid' || /(?:^|_)id$/v.test(name)) {
    const owner = name === 'id' ? place : name.replace(/_id$/v, '');
    return ids[owner as keyof typeof ids] ?? ids.link;
  }

  const simple: Readonly<Record<string, unknown>> = {
    boolean: true,
    integer: Math.max(minimum, 1),
    number: 1,
    object: {},
    'date-time': '2027-03-01T09:00:00.000Z',
    date: '2027-03-01',
  };
  return simple[format ?? String(type)];
}
