import test from 'ava';
import { allRoutes } from '../../../api/app.ts';
import { sharedApi } from '../../support/kit.ts';
import { silentPort, type Owned } from '../owned.ts';
import { allAreRefused, type BadCall } from './refuse.ts';

const api = sharedApi(test, { allowPorts: [silentPort] });

const routes = allRoutes.filter(({ isForOperators }) => !isForOperators);

const get = (path: string, places?: readonly string[]): BadCall => ({
  title: 'a bad query',
  method: 'GET',
  path,
  code: 'invalid_request',
  ...(places ? { places } : {}),
});

/** A path of this call with the caller's own resources. */
const filled = (path: string, { draft, scheduled, failed, media, webhook, delivery }: Owned) => {
  const post = { cancel: scheduled, retry: failed }[path.split('/').at(-1) ?? ''] ?? draft;
  const id = /^\/(?:posts|analytics)/v.test(path)
    ? post
    : path.startsWith('/media')
      ? media
      : webhook;
  return path.replace(/\{(?:post_|link_)?id\}/v, id).replace('{delivery}', delivery);
};

/** Unknown parameters in a query, and their names in `details`. */
const unknown: readonly (readonly [query: string, place: string])[] = [
  ['colour=red', '?colour'],
  ['x', '?x'],
  ['=1', '?'],
  ['status%5B%5D=draft', '?status[]'],
  ['__proto__=1', '?__proto__'],
  ['%zz=1', '?%zz'],
  ['api_key=svc_live_x', '?api_key'],
];

test('every call refuses and names an unknown query parameter', (t) =>
  allAreRefused(t, api, (owned) =>
    routes.flatMap(({ method, path, body: takesBody }) =>
      unknown.map(([query, place]): BadCall => {
        const since = path.endsWith('{id}/replay') ? '&since=2020-01-01T00:00:00Z' : '';
        const to = `${filled(path, owned)}?${query}${since}`;
        const code = 'invalid_request';
        const bad = { method: method.toUpperCase(), path: to, code, places: [place] } as const;
        const body = path.includes('webhooks') ? {} : { body: 'x' };
        return Object.assign({ title: 'an unknown parameter' }, bad, takesBody ? { body } : {});
      }),
    ),
  ));

test('every call with query parameters refuses and names a repeated one', (t) =>
  allAreRefused(t, api, (owned) =>
    routes.flatMap(({ method, path, query = {} }) =>
      Object.keys(query).map((name): BadCall => ({
        title: 'a parameter twice',
        method: method.toUpperCase(),
        path: `${filled(path, owned)}?${name}=1&${name}=1`,
        code: 'invalid_request',
      })),
    ),
  ));

const noNumbers = ['', 'x', 'NaN', '1e999', '1.5', '0x10', '%2010', '١٢', '99999999999999999999'];

const lists = ({ webhook }: Owned): readonly string[] => [
  '/posts',
  '/media',
  '/analytics',
  `/webhooks/${webhook}/deliveries`,
];

test('every list refuses a limit that is not a whole number in its range', (t) =>
  allAreRefused(t, api, (owned) =>
    lists(owned).flatMap((path) =>
      ['0', '-1', '101', '1000000', ...noNumbers].map((limit) =>
        get(`${path}?limit=${limit}`, ['?limit']),
      ),
    ),
  ));

const wrongCursors = [
  '',
  'x',
  '1',
  '%00',
  'null',
  '__proto__',
  '=',
  '%ff',
  'W10',
  Buffer.from('[]').toString('base64url'),
  Buffer.from('["2026-01-01T00:00:00.000Z","x"]').toString('base64url'),
  Buffer.from(`["2026-01-01T00:00:00.000Z","${crypto.randomUUID()}",1]`).toString('base64url'),
  Buffer.from(`["2026-02-30T00:00:00.000Z","${crypto.randomUUID()}"]`).toString('base64url'),
  Buffer.from(`["' or 1=1 --","${crypto.randomUUID()}"]`).toString('base64url'),
  'x'.repeat(5000),
];

test('every list refuses an invalid cursor', (t) =>
  allAreRefused(t, api, (owned) =>
    lists(owned)
      .filter((path) => path !== '/analytics')
      .flatMap((path) =>
        wrongCursors.map((cursor) => get(`${path}?cursor=${cursor}`, ['?cursor'])),
      ),
  ));

test('a filter with an unknown value is refused', (t) =>
  allAreRefused(t, api, ({ webhook }) => [
    ...['', 'Draft', 'DRAFT', 'cancelled', 'draft,sent', 'draft%20', 'retrying', '%00'].map(
      (status) => get(`/posts?status=${status}`, ['?status']),
    ),
    ...['', 'Image', 'image/png', 'audio', 'image,video', 'gif', '*'].map((type) =>
      get(`/media?type=${type}`, ['?type']),
    ),
    ...['', 'done', 'Failed', 'delivered,failed'].map((status) =>
      get(`/webhooks/${webhook}/deliveries?status=${status}`, ['?status']),
    ),
    ...['', 'post', 'Post.Failed', '*', 'post.failed%20'].map((type) =>
      get(`/webhooks/${webhook}/deliveries?event_type=${type}`, ['?event_type']),
    ),
    ...['%00', 'a%00b'].map((search) => get(`/media?search=${search}`, ['?search'])),
  ]));

const noDays = [
  '',
  'today',
  '2026-1-1',
  '2026-13-01',
  '2026-02-30',
  '2026-01-01T00:00:00Z',
  '%202026-01-01',
  '٢٠٢٦-٠١-٠١',
];

test('analytics refuse an invalid day, an invalid range and unknown values', (t) =>
  allAreRefused(t, api, ({ channel, failed }) => [
    ...noDays.flatMap((day) => [
      get(`/analytics?from=${day}&to=2026-12-31`, ['?from']),
      get(`/analytics?from=2025-12-31&to=${day}`, ['?to']),
    ]),
    get('/analytics?from=2026-02-02&to=2026-02-01'),
    get('/analytics?from=2025-01-01&to=2026-01-02'), // 367 days.
    get('/analytics?from=0001-01-01&to=9999-12-31'),
    ...['', 'x', '1', `{${channel}}`, '%00'].map((id) =>
      get(`/analytics?channel_id=${id}`, ['?channel_id']),
    ),
    ...['', 'x', '1', failed.replaceAll('-', ''), '%00'].map((id) =>
      get(`/analytics?post_id=${id}`, ['?post_id']),
    ),
    ...['', 'X', 'twitter', 'facebook', 'mastodon,bluesky', 'constructor'].map((platform) =>
      get(`/analytics?platform=${platform}`, ['?platform']),
    ),
    ...['', 'Date', 'views', 'likes,comments', '-likes', 'constructor'].map((sort) =>
      get(`/analytics?sort=${sort}`, ['?sort']),
    ),
    ...['', 'DESC', 'ascending', '1', '-1'].map((order) =>
      get(`/analytics?order=${order}`, ['?order']),
    ),
    ...['-1', ...noNumbers].map((offset) => get(`/analytics?offset=${offset}`, ['?offset'])),
  ]));

const paths = [
  '',
  '/',
  '/post',
  '/Posts',
  '/posts/',
  '//posts',
  '/me/x',
  '/analytics/x',
  '/__proto__',
  '/%00',
  '/%zz',
  '/..%2Fme',
  '/*',
  `/${'x/'.repeat(1000)}`,
];

test('an unknown path is not found by every method', (t) =>
  allAreRefused(t, api, () =>
    paths.flatMap((path) =>
      ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method): BadCall => ({
        title: 'an unknown path',
        method,
        path,
        code: 'not_found',
      })),
    ),
  ));
