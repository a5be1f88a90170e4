import test from 'ava';
import { allRoutes } from '../../../api/app.ts';
import type { ApiDeps } from '../../../api/deps.ts';
import { sharedApi } from '../../support/kit.ts';
import { silentPort, type Owned } from '../owned.ts';
import { allAreRefused, type BadCall } from './refuse.ts';
import { clearable, posts, times, webhooks, type BadField } from './wrong-values.ts';

const onPosts = ({ draft }: Owned): readonly (readonly [string, string])[] => [
  ['POST', '/posts'],
  ['POST', '/posts/validate'],
  ['PATCH', `/posts/${draft}`],
];

const call = (
  [method, path]: readonly [string, string],
  base: object,
  { field, value, code, place = `/${field}` }: BadField,
): BadCall => ({
  title: `${field} ${String(JSON.stringify(value)).slice(0, 60)}`,
  method,
  path,
  body: { ...base, [field]: value },
  code: code ?? 'invalid_request',
  places: Array.isArray(place) ? place : [String(place)],
});

const api = sharedApi(test, { allowPorts: [silentPort] });

test('a field of a post with a value that it cannot have is refused and named, by each call that takes posts', (t) =>
  allAreRefused(t, api, (owned) =>
    onPosts(owned).flatMap((to) =>
      posts.map((bad) => call(to, { body: 'x', channel_ids: [owned.channel] }, bad)),
    ),
  ));

test('null is a value of those fields only that an edit can clear, and of a time', (t) =>
  allAreRefused(t, api, (owned) =>
    onPosts(owned).flatMap((to) => {
      const fields = ['body', 'channel_ids', 'schedule_in_minutes', 'media_urls'];
      return (to[0] === 'PATCH' ? fields : [...fields, ...clearable]).map((field) =>
        call(to, field === 'body' ? {} : { body: 'x' }, { field, value: null }),
      );
    }),
  ));

test('a time that is none, too long past or too far ahead is refused, by each call that takes posts', (t) =>
  allAreRefused(t, api, (owned) =>
    onPosts(owned).flatMap((to) =>
      times().map((bad) => call(to, { body: 'x', channel_ids: [owned.channel] }, bad)),
    ),
  ));

test('an idempotency key is no field of an edit or a validation', (t) =>
  allAreRefused(t, api, (owned) =>
    onPosts(owned)
      .slice(1)
      .map((to) => call(to, { body: 'x' }, { field: 'idempotency_key', value: 'k' })),
  ));

test('an idempotency key that is empty, too long or no text is refused', (t) =>
  allAreRefused(t, api, () => [
    ...['', 'x'.repeat(256), 'é'.repeat(256), 'a\0', 'a\ud800', 1, null, [], {}].map((value) =>
      call(['POST', '/posts'], { body: 'x' }, { field: 'idempotency_key', value }),
    ),
    ...['', ' ', 'x'.repeat(256), 'x'.repeat(8000)].map((key): BadCall => ({
      title: `a header of ${key.length} characters`,
      method: 'POST',
      path: '/posts',
      headers: { 'idempotency-key': key },
      body: { body: 'x' },
      code: 'invalid_request',
    })),
    {
      title: 'two keys',
      method: 'POST',
      path: '/posts',
      headers: { 'idempotency-key': 'one' },
      body: { body: 'x', idempotency_key: 'two' },
      code: 'invalid_request',
    },
  ]));

test('a field of a webhook endpoint with a value that it cannot have is refused and named', (t) =>
  allAreRefused(t, api, ({ webhook }) => {
    const base = { url: 'https://8.8.8.8/hook', events: ['post.failed'] };
    return [
      ...webhooks.flatMap((bad) => [
        call(['POST', '/webhooks'], base, bad),
        call(['PATCH', `/webhooks/${webhook}`], {}, bad),
      ]),
      call(['POST', '/webhooks'], base, { field: 'secret', value: 'whsec_mine' }),
      call(['PATCH', `/webhooks/${webhook}`], {}, { field: 'secret', value: 'whsec_mine' }),
      call(['PATCH', `/webhooks/${webhook}`], {}, { field: 'id', value: webhook }),
      ...[0, 1, 'true', 'false', null, [], {}].map((value) =>
        call(['PATCH', `/webhooks/${webhook}`], {}, { field: 'enabled', value }),
      ),
      call(['POST', '/webhooks'], base, { field: 'enabled', value: false }),
    ];
  }));

/** Ways to write an id that exists so that it is none, and things that are no id at all; as a path has them. */
const malformed = (id: string): readonly string[] => [
  id.toUpperCase(),
  `${id.slice(0, 8).toUpperCase()}${id.slice(8)}`,
  id.replaceAll('-', ''),
  `%7B${id}%7D`,
  `%20${id}`,
  `${id}%20`,
  `${id}%00`,
  `${id}x`,
  `${id}%0A`,
  `${id},${id}`,
  `urn:uuid:${id}`,
  id.slice(0, -1),
  id.replace(/^./v, 'g'),
  '1',
  '-1',
  'null',
  'undefined',
  'constructor',
  '__proto__',
  '%00',
  '%ff',
  '%zz',
  '..%2F..',
  `'%20or%201=1--`,
  '*',
  'x'.repeat(2000),
];

/** The kind of thing that a path parameter names. */
const named = (path: string, { draft, media, webhook }: Owned): string => {
  const [, resource] = path.split('/');
  return { posts: draft, media, webhooks: webhook }[resource ?? ''] ?? crypto.randomUUID();
};

test('an id in a path that is not written as one is as unknown as any other, on every call', (t) =>
  allAreRefused(t, api, (owned) =>
    allRoutes({} as ApiDeps)
      .filter(({ path }) => path.includes('{'))
      .flatMap(({ method, path }) => {
        const known = path.replaceAll('{delivery}', owned.delivery);
        const id = named(path, owned);
        const body = method === 'patch' ? {} : undefined;
        return malformed(id).map((wrong): BadCall => {
          const to = known.replace('{id}', wrong);
          const bad = { title: 'a malformed id', method: method.toUpperCase(), path: to } as const;
          return Object.assign(bad, { code: 'not_found' as const }, body ? { body } : {});
        });
      }),
  ));

test('the second id in a path is held to the same', (t) =>
  allAreRefused(t, api, ({ webhook, delivery }) =>
    malformed(delivery).map((wrong): BadCall => ({
      title: 'a malformed id',
      method: 'POST',
      path: `/webhooks/${webhook}/deliveries/${wrong}/replay`,
      code: 'not_found',
    })),
  ));

test('an id in a body that is not written as one is refused and named', (t) =>
  allAreRefused(t, api, (owned) => {
    const { channel, media } = owned;
    const wrong = (id: string): readonly string[] => [
      id.toUpperCase(),
      id.replaceAll('-', ''),
      `{${id}}`,
      ` ${id}`,
      `${id}\n`,
      '',
      ' ',
      '1',
      'constructor',
      '__proto__',
      'toString',
      '\0',
      '\ud800',
      `' or 1=1 --`,
      '$1',
      '?',
    ];
    return onPosts(owned).flatMap(([method, path]) => {
      const channels = wrong(channel).map((id): BadCall => ({
        title: `channel ${JSON.stringify(id)}`,
        method,
        path,
        body: { body: 'x', channel_ids: [channel, id] },
        code: 'invalid_channel_ids',
        places: ['/channel_ids'],
      }));
      const texts = wrong(channel).map((id): BadCall => ({
        title: `text for channel ${JSON.stringify(id)}`,
        method,
        path,
        // By hand: a literal `__proto__` would set the prototype.
        body: `{"body":"x","channel_ids":["${channel}"],"channel_bodies":{${JSON.stringify(id)}:"y"}}`,
        code: id === '__proto__' ? 'invalid_request' : 'invalid_channel_ids',
      }));
      const files = wrong(media).map((id): BadCall => ({
        title: `file ${JSON.stringify(id)}`,
        method,
        path,
        body: { body: 'x', media_ids: [media, id] },
        code: 'invalid_media_ids',
        places: ['/media_ids'],
      }));
      return [channels, texts, files].flat();
    });
  }));
