import test from 'ava';
import { allRoutes } from '../../../api/app.ts';
import type { ApiDeps } from '../../../api/deps.ts';
import { sharedApi } from '../../support/kit.ts';
import { silentPort, type Owned } from '../owned.ts';
import { allAreRefused, onPosts, type BadCall } from './refuse.ts';

const api = sharedApi(test, { allowPorts: [silentPort] });

/** Malformed spellings of an existing id, and other values in the place of an id; as in a path. */
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

/** The resource that a path parameter names. */
const named = (path: string, { channel, draft, media, webhook }: Owned): string => {
  const [, resource] = path.split('/');
  return (
    { posts: draft, channels: channel, media, webhooks: webhook }[resource ?? ''] ??
    crypto.randomUUID()
  );
};

test('every call treats a malformed id in the path like an unknown one', (t) =>
  allAreRefused(t, api, (owned) =>
    allRoutes({} as ApiDeps)
      .filter(({ path, isForOperators }) => path.includes('{') && !isForOperators)
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

test('so does the second id in a path', (t) =>
  allAreRefused(t, api, ({ webhook, delivery }) =>
    malformed(delivery).map((wrong): BadCall => ({
      title: 'a malformed id',
      method: 'POST',
      path: `/webhooks/${webhook}/deliveries/${wrong}/replay`,
      code: 'not_found',
    })),
  ));

/** Malformed spellings of an id. */
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

const wrongInBody = ({ channel, media }: Owned, [method, path]: readonly [string, string]) => {
  const channels = wrong(channel).map((id): BadCall => ({
    title: `channel ${JSON.stringify(id)}`,
    method,
    path,
    body: { body: 'x', channel_ids: [channel, id] },
    code: 'invalid_channel_ids',
    places: ['/channel_ids/1'],
  }));
  const texts = wrong(channel).map((id): BadCall => ({
    title: `text for channel ${JSON.stringify(id)}`,
    method,
    path,
    // As text: a literal `__proto__` would set the prototype.
    body: `{"body":"x","channel_ids":["${channel}"],"channel_bodies":{${JSON.stringify(id)}:"y"}}`,
    code: id === '__proto__' ? 'invalid_request' : 'invalid_channel_ids',
  }));
  const options = wrong(channel).map((id): BadCall => ({
    title: `options for channel ${JSON.stringify(id)}`,
    method,
    path,
    body: `{"body":"x","channel_ids":["${channel}"],"channel_options":{${JSON.stringify(id)}:{}}}`,
    code: id === '__proto__' ? 'invalid_request' : 'invalid_channel_ids',
  }));
  const altTexts = wrong(media).map((id): BadCall => ({
    title: `alt text of file ${JSON.stringify(id)}`,
    method,
    path,
    body: `{"body":"x","media_ids":["${media}"],"alt_texts":{${JSON.stringify(id)}:"y"}}`,
    code: id === '__proto__' ? 'invalid_request' : 'invalid_media_ids',
  }));
  const inLists = wrong(media).flatMap((id): BadCall[] => [
    {
      title: `file ${JSON.stringify(id)}`,
      method,
      path,
      body: { body: 'x', media_ids: [media, id] },
      code: 'invalid_media_ids',
      places: ['/media_ids/1'],
    },
    {
      title: `file ${JSON.stringify(id)} of a part`,
      method,
      path,
      body: { thread: ['x', { text: 'y', media_ids: [media, id] }] },
      code: 'invalid_media_ids',
      places: ['/thread/1/media_ids/1'],
    },
  ]);
  return [channels, texts, options, altTexts, inLists].flat();
};

test('a malformed id in a body is refused and named', (t) =>
  allAreRefused(t, api, (owned) => onPosts(owned).flatMap((call) => wrongInBody(owned, call))));
