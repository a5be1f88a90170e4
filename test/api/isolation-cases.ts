import { silentPort, type Owned } from './owned.ts';

export type Ask = {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: object;
};

export type IsolationCase = {
  /** The kind of resource that the id names. */
  readonly kind: Exclude<keyof Owned, 'client'>;
  /** The status for an unknown id. */
  readonly status: number;
  /** @param mine The caller's resources, for the rest of the request. */
  readonly ask: (id: string, mine: Owned) => Ask;
};

const inPath = (
  kind: IsolationCase['kind'],
  method: Ask['method'],
  path: (id: string) => string,
  body?: object,
): IsolationCase => ({
  kind,
  status: 404,
  ask: (id) => ({ method, path: path(id), ...(body ? { body } : {}) }),
});

const refused = (kind: IsolationCase['kind'], ask: IsolationCase['ask']): IsolationCase => ({
  kind,
  status: 400,
  ask,
});

/** The fields with ids in a new or an edited post. */
const postFields = (route: string, request: (body: object, mine: Owned) => Ask) => ({
  [`${route} /channel_ids`]: refused('channel', (id, mine) =>
    request({ body: 'x', channel_ids: [mine.channel, id] }, mine),
  ),
  [`${route} /channel_bodies`]: refused('channel', (id, mine) =>
    request({ body: 'x', channel_ids: [mine.channel], channel_bodies: { [id]: 'y' } }, mine),
  ),
  [`${route} /channel_options`]: refused('channel', (id, mine) =>
    request({ body: 'x', channel_ids: [mine.channel], channel_options: { [id]: {} } }, mine),
  ),
  [`${route} /channel_media`]: refused('channel', (id, mine) =>
    request({ body: 'x', channel_ids: [mine.channel], channel_media: { [id]: [] } }, mine),
  ),
  [`${route} /channel_media/*/*/media_id`]: refused('media', (id, mine) =>
    request(
      {
        body: 'x',
        channel_ids: [mine.channel],
        channel_media: { [mine.channel]: [{ media_id: id }] },
      },
      mine,
    ),
  ),
  [`${route} /media/*/media_id`]: refused('media', (id, mine) =>
    request({ body: 'x', media: [{ media_id: id }] }, mine),
  ),
  [`${route} /thread/*/media/*/media_id`]: refused('media', (id, mine) =>
    request({ thread: ['x', { text: 'y', media: [{ media_id: id }] }] }, mine),
  ),
  [`${route} /alt_texts`]: refused('media', (id, mine) =>
    request({ body: 'x', media_ids: [mine.media], alt_texts: { [id]: 'y' } }, mine),
  ),
  [`${route} /thread/*/media_ids`]: refused('media', (id, mine) =>
    request({ thread: ['x', { text: 'y', media_ids: [mine.media, id] }] }, mine),
  ),
  [`${route} /thread/*/alt_texts`]: refused('media', (id, mine) =>
    request(
      { thread: ['x', { text: 'y', media_ids: [mine.media], alt_texts: { [id]: 'z' } }] },
      mine,
    ),
  ),
  [`${route} /media_ids`]: refused('media', (id, mine) =>
    request({ body: 'x', media_ids: [mine.media, id] }, mine),
  ),
});

const settle = (post: string, channel: string): Ask => ({
  method: 'POST',
  path: `/posts/${post}/settle`,
  body: { channel_id: channel, url: null },
});

const url = `http://127.0.0.1:${silentPort}/other`;
const asDelivery = (mine: Owned, id: string): Ask => ({
  method: 'POST',
  path: `/webhooks/${mine.webhook}/deliveries/${id}/replay`,
});

/** Every place of every call that takes an id, except cursors, which callers cannot construct. */
export const isolationCases: Readonly<Record<string, IsolationCase>> = {
  'get /posts/{id} {id}': inPath('draft', 'GET', (id) => `/posts/${id}`),
  'patch /posts/{id} {id}': inPath('draft', 'PATCH', (id) => `/posts/${id}`, { body: 'Mine' }),
  'delete /posts/{id} {id}': inPath('draft', 'DELETE', (id) => `/posts/${id}`),
  'post /posts/{id}/copy {id}': inPath('draft', 'POST', (id) => `/posts/${id}/copy`, {}),
  'post /posts/{id}/cancel {id}': inPath('scheduled', 'POST', (id) => `/posts/${id}/cancel`),
  'post /posts/{id}/retry {id}': inPath('failed', 'POST', (id) => `/posts/${id}/retry`),
  'post /posts/{id}/settle {id}': {
    kind: 'unconfirmed',
    status: 404,
    ask: (id, mine) => settle(id, mine.channel),
  },
  'post /posts/{id}/settle /channel_id': refused('channel', (id, mine) =>
    settle(mine.unconfirmed, id),
  ),
  'post /posts/{id}/unpublish {id}': inPath(
    'published',
    'POST',
    (id) => `/posts/${id}/unpublish`,
    {},
  ),
  'post /posts/{id}/unpublish /channel_ids': refused('channel', (id, mine) => ({
    method: 'POST',
    path: `/posts/${mine.published}/unpublish`,
    body: { channel_ids: [id] },
  })),
  ...postFields('post /posts', (body) => ({ method: 'POST', path: '/posts', body })),
  ...postFields('post /posts/validate', (body) => ({
    method: 'POST',
    path: '/posts/validate',
    body,
  })),
  ...postFields('patch /posts/{id}', (body, mine) => ({
    method: 'PATCH',
    path: `/posts/${mine.draft}`,
    body,
  })),
  'get /channels/{id} {id}': inPath('channel', 'GET', (id) => `/channels/${id}`),
  'patch /channels/{id} {id}': inPath('channel', 'PATCH', (id) => `/channels/${id}`, {
    options: { language: 'en' },
  }),
  'post /channels/connect /channel_id': refused('channel', (id) => ({
    method: 'POST',
    path: '/channels/connect',
    body: { platform: 'mastodon', channel_id: id },
  })),
  'post /channels/{id}/reconnect {id}': inPath(
    'channel',
    'POST',
    (id) => `/channels/${id}/reconnect`,
    { retry_posts: true },
  ),
  'post /channels/{id}/check {id}': inPath('channel', 'POST', (id) => `/channels/${id}/check`),
  'delete /channels/{id} {id}': inPath('channel', 'DELETE', (id) => `/channels/${id}`),
  'get /posts ?channel_id': {
    kind: 'channel',
    status: 404,
    ask: (id) => ({ method: 'GET', path: `/posts?channel_id=${id}` }),
  },
  'get /audit ?object_id': {
    kind: 'draft',
    status: 200,
    ask: (id) => ({ method: 'GET', path: `/audit?object_id=${id}` }),
  },
  'get /networks ?channel_id': {
    kind: 'channel',
    status: 400,
    ask: (id) => ({ method: 'GET', path: `/networks?channel_id=${id}` }),
  },
  'post /keys /channel_ids': refused('channel', (id) => ({
    method: 'POST',
    path: '/keys',
    body: { name: 'x', scopes: ['media'], channel_ids: [id] },
  })),
  'patch /keys/{id} /channel_ids': refused('channel', (id, mine) => ({
    method: 'PATCH',
    path: `/keys/${mine.key}`,
    body: { scopes: ['media'], channel_ids: [id] },
  })),
  'patch /keys/{id} {id}': inPath('key', 'PATCH', (id) => `/keys/${id}`, { name: 'Mine' }),
  'delete /keys/{id} {id}': inPath('key', 'DELETE', (id) => `/keys/${id}`),
  'get /media/{id} {id}': inPath('media', 'GET', (id) => `/media/${id}`),
  'patch /media/{id} {id}': inPath('media', 'PATCH', (id) => `/media/${id}`, { name: 'Mine' }),
  'delete /media/{id} {id}': inPath('media', 'DELETE', (id) => `/media/${id}`),
  'get /analytics ?post_id': {
    kind: 'failed',
    status: 404,
    ask: (id) => ({ method: 'GET', path: `/analytics?post_id=${id}` }),
  },
  'post /analytics/refresh /post_id': {
    kind: 'failed',
    status: 404,
    ask: (id) => ({ method: 'POST', path: '/analytics/refresh', body: { post_id: id } }),
  },
  'get /analytics ?channel_id': {
    kind: 'channel',
    status: 404,
    ask: (id) => ({ method: 'GET', path: `/analytics?channel_id=${id}` }),
  },
  'get /analytics/best-times ?channel_id': {
    kind: 'channel',
    status: 404,
    ask: (id) => ({ method: 'GET', path: `/analytics/best-times?channel_id=${id}` }),
  },
  'get /analytics/{post_id}/history {post_id}': inPath(
    'failed',
    'GET',
    (id) => `/analytics/${id}/history`,
  ),
  'get /webhooks/{id} {id}': inPath('webhook', 'GET', (id) => `/webhooks/${id}`),
  'patch /webhooks/{id} {id}': inPath('webhook', 'PATCH', (id) => `/webhooks/${id}`, { url }),
  'delete /webhooks/{id} {id}': inPath('webhook', 'DELETE', (id) => `/webhooks/${id}`),
  'post /webhooks/{id}/test {id}': inPath('webhook', 'POST', (id) => `/webhooks/${id}/test`),
  'post /webhooks/{id}/rotate {id}': inPath('webhook', 'POST', (id) => `/webhooks/${id}/rotate`),
  'get /webhooks/{id}/deliveries {id}': inPath(
    'webhook',
    'GET',
    (id) => `/webhooks/${id}/deliveries`,
  ),
  'post /webhooks/{id}/replay {id}': inPath(
    'webhook',
    'POST',
    (id) => `/webhooks/${id}/replay?since=2020-01-01T00:00:00Z`,
  ),
  'get /events/{id} {id}': inPath('event', 'GET', (id) => `/events/${id}`),
  'get /events ?post_id': {
    kind: 'scheduled',
    status: 200,
    ask: (id) => ({ method: 'GET', path: `/events?post_id=${id}` }),
  },
  'get /channels/connect/{link_id} {link_id}': inPath(
    'link',
    'GET',
    (id) => `/channels/connect/${id}`,
  ),
  'post /webhooks/{id}/deliveries/{delivery}/replay {id}': {
    kind: 'webhook',
    status: 404,
    ask: (id, mine) => asDelivery({ ...mine, webhook: id }, mine.delivery),
  },
  'post /webhooks/{id}/deliveries/{delivery}/replay {delivery}': {
    kind: 'delivery',
    status: 404,
    ask: (id, mine) => asDelivery(mine, id),
  },
};

/** The lists with a cursor. */
export const cursorCases: Readonly<Record<string, (mine: Owned) => string>> = {
  'get /posts ?cursor': () => '/posts',
  'get /audit ?cursor': () => '/audit',
  'get /media ?cursor': () => '/media',
  'get /webhooks/{id}/deliveries ?cursor': ({ webhook }) => `/webhooks/${webhook}/deliveries`,
};
