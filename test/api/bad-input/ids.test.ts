import test from 'ava';
import { allRoutes } from '../../../api/app.ts';
import { sharedApi } from '../../support/kit.ts';
import { ownedBy, silentPort, type Owned } from '../owned.ts';
import { allAreRefused, type BadCall } from './refuse.ts';

const api = sharedApi(test, { allowPorts: [silentPort] });

/** Malformed spellings of an existing id, and other values in the place of an id; as in a path. */
const malformed = (id: string): readonly string[] => [
  id.replaceAll('-', ''),
  `%7B${id}%7D`,
  `${id}%00`,
  `urn:uuid:${id}`,
  id.replace(/^./v, 'g'),
  '__proto__',
  '%00',
  '%zz',
  `'%20or%201=1--`,
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
    allRoutes
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

test('an id in upper case is the same id wherever a request has one, and any other text stays as it is', async (t) => {
  const { client, channel, media } = await ownedBy(api.punctual);
  const [CHANNEL, MEDIA] = [channel.toUpperCase(), media.toUpperCase()];
  const texts = { body: CHANNEL, external_id: CHANNEL, metadata: { channel_id: CHANNEL } };
  const created = await client.post('/posts', {
    ...texts,
    tags: [CHANNEL],
    channel_ids: [CHANNEL],
    channel_bodies: { [CHANNEL]: 'own' },
    channel_options: { [CHANNEL]: {} },
    channel_media: { [CHANNEL]: [{ media_id: MEDIA }] },
    media_ids: [MEDIA],
    alt_texts: { [MEDIA]: 'A lake' },
  });
  t.is(created.status, 201, JSON.stringify(created.body));
  t.like(created.body.post, { ...texts, tags: [CHANNEL] });
  t.deepEqual(
    created.body.post.channels.map((one: Record<string, unknown>) => [
      one['channel_id'],
      one['body'],
    ]),
    [[channel, 'own']],
  );
  const { id } = created.body.post;
  const path = `/posts/${id.toUpperCase()}`;
  t.is((await client.get(path)).body.post.id, id);
  t.is(
    (await client.patch(path, { thread: ['one', { text: 'two', media_ids: [MEDIA] }] })).status,
    200,
  );
  const { posts } = (await client.get(`/posts?channel_id=${CHANNEL}&external_id=${CHANNEL}`)).body;
  t.deepEqual(
    posts.map((post: { id: string }) => post.id),
    [id],
  );
});

test('every time in a query is taken without seconds, and a plus that came as a blank is named', async (t) => {
  const { client, webhook } = await ownedBy(api.punctual);
  const times = allRoutes.flatMap(({ method, path, query = {} }) =>
    ['from', 'to', 'since']
      .filter((name) => name in query && !path.startsWith('/analytics'))
      .map(
        (name) =>
          [method === 'get' ? 'get' : 'post', `${path.replace('{id}', webhook)}?${name}=`] as const,
      ),
  );
  t.true(times.length >= 7);
  for (const [method, path] of times) {
    const bare = await client[method](`${path}2026-11-01T00:00:00+01:00`);
    t.is(bare.status, 400, path);
    t.regex(bare.body.error, /write \+ as %2B/v, path);
    t.true((await client[method](`${path}2026-11-01T00:00%2B01:00`)).status < 300, path);
  }

  const { body } = await client.get('/analytics?timezone=Etc/GMT+2');
  t.regex(body.error, /write \+ as %2B/v);
});
