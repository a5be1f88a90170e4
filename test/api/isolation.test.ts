import test from 'ava';
import { allRoutes } from '../../api/app.ts';
import type { Route } from '../../api/http/route.ts';
import { recordEvent } from '../../db/record-event.ts';
import type { Client, Reply } from '../support/client.ts';
import { sharedApi } from '../support/kit.ts';
import { cursorCases, isolationCases, type Ask } from './isolation-cases.ts';
import { ownedBy, silentPort } from './owned.ts';
import { pretendOauth } from '../support/pretend-oauth.ts';
import { storeDelivery } from '../support/seed-deliveries.ts';
import { storeMedia } from '../support/seed-media.ts';
import { storeChannel } from '../support/seed.ts';
import { storedRows } from '../support/stored-rows.ts';

const connecting = { oauth: { mastodon: pretendOauth().entry } };
const api = sharedApi(test, { allowPorts: [silentPort], connecting });

/** Two workspaces, each with one of everything. */
const twoWorkspaces = async () => ({
  mine: await ownedBy(api.punctual),
  theirs: await ownedBy(api.punctual),
});

const send = (client: Client, { method, path, body }: Ask): Promise<Reply> => {
  const calls = {
    GET: () => client.get(path),
    POST: () => client.post(path, body),
    PATCH: () => client.patch(path, body),
    DELETE: () => client.delete(path),
  };
  return calls[method]();
};

/** Everything that a response reveals, except the id that the caller sent. */
const learnt = ({ status, body }: Reply, id: string): [number, string] => [
  status,
  JSON.stringify(body).replaceAll(id, 'ID'),
];

/** Names of parameters and fields that identify a resource of a workspace. Callers choose an `external_id` freely. */
const namesAThing =
  /(?:^|(?<!^external)_)ids?$|^channel_(?:bodies|options|media)$|^alt_texts$|^cursor$/v;

type BodySchema = {
  readonly format?: string;
  readonly properties?: Readonly<Record<string, BodySchema>>;
  readonly items?: BodySchema;
  readonly additionalProperties?: BodySchema | boolean;
};

/** The places of a call that take ids: `{id}` in the path, `?cursor` in the query, `/channel_ids` in the body. */
function idPlaces({ path, query = {}, body = {} }: Route): string[] {
  return [
    ...[...path.matchAll(/\{\w+\}/gv)].map(([name]) => name),
    ...Object.keys(query)
      .filter((name) => namesAThing.test(name))
      .map((name) => `?${name}`),
    ...bodyPlaces(body as BodySchema),
  ];
}

function bodyPlaces({ properties = {}, items }: BodySchema, at = ''): string[] {
  const inFields = Object.entries(properties).flatMap(([name, schema]) => {
    const here = `${at}/${name}`;
    const isId = namesAThing.test(name) || (schema.format ?? schema.items?.format) === 'uuid';
    const { additionalProperties: values } = schema;
    const inside = typeof values === 'object' ? bodyPlaces(values, `${here}/*`) : [];
    return (isId ? [here] : bodyPlaces(schema, here)).concat(inside);
  });
  return [...(items ? bodyPlaces(items, `${at}/*`) : []), ...inFields];
}

test('the cases cover every place where a call takes an id', (t) => {
  // test/api/workspaces.test.ts has the calls for operators.
  const ofWorkspaces = allRoutes.filter((route) => !route.isForOperators);
  const places = ofWorkspaces.flatMap((route) =>
    idPlaces(route).map((place) => `${route.method} ${route.path} ${place}`),
  );
  const looked = [...Object.keys(isolationCases), ...Object.keys(cursorCases)];
  t.true(places.length >= 20);
  t.deepEqual(looked.toSorted(), places.toSorted());
});

for (const [place, { kind, status, ask }] of Object.entries(isolationCases)) {
  test(`${place}: an id of another workspace is answered like an unknown one`, async (t) => {
    const { mine, theirs } = await twoWorkspaces();
    const rows = () =>
      Promise.all(
        [mine, theirs].map(({ client }) => storedRows(api.punctual.orm, client.workspaceId)),
      );
    const before = await rows();

    const unknownId = crypto.randomUUID();
    const unknown = learnt(await send(mine.client, ask(unknownId, mine)), unknownId);
    t.is(unknown[0], status, unknown[1]);
    const { client, ...things } = theirs;
    for (const id of [...Object.values(things), client.workspaceId]) {
      t.deepEqual(learnt(await send(mine.client, ask(id, mine)), id), unknown);
    }

    t.deepEqual(await rows(), before);
    // Proves that the refusals above are caused by the workspace, not by the rest of the request.
    const own = await send(client, ask(theirs[kind], theirs));
    t.true(own.status < 300, `${own.status} ${JSON.stringify(own.body)}`);
  });
}

for (const [place, pathOf] of Object.entries(cursorCases)) {
  test(`${place}: a cursor of another workspace shows nothing of it, not even whether its row exists`, async (t) => {
    const { punctual } = api;
    const { mine, theirs } = await twoWorkspaces();
    for (const { client } of [mine, theirs]) {
      await client.post('/posts', { body: 'Another' });
      await storeMedia(punctual, client.workspaceId, { name: 'another.png' });
      await storeDelivery(punctual, client.workspaceId);
    }

    const first = await theirs.client.get(`${pathOf(theirs)}?limit=1`);
    const cursor: string = first.body.next_cursor;
    t.is(typeof cursor, 'string');
    const path = `${pathOf(mine)}?cursor=${encodeURIComponent(cursor)}`;
    const there = await mine.client.get(path);
    for (const [field, listed] of Object.entries(first.body)) {
      for (const { id } of Array.isArray(listed) ? listed : []) {
        t.false(JSON.stringify(there.body).includes(id), `${field} shows ${id}`);
      }
    }

    const em = punctual.orm.em.fork();
    await em.execute('delete from deliveries where workspace_id = ?', [theirs.client.workspaceId]);
    await em.execute('update media_files set deleted_at = now() where workspace_id = ?', [
      theirs.client.workspaceId,
    ]);
    await em.execute('update posts set created_at = now() where workspace_id = ?', [
      theirs.client.workspaceId,
    ]);
    const gone = await mine.client.get(path);
    t.deepEqual([gone.status, gone.body], [there.status, there.body]);
  });
}

test('another endpoint’s delivery cannot be replayed under one of its own workspace', async (t) => {
  const { client, delivery } = await ownedBy(api.punctual);
  const hook = { url: `http://127.0.0.1:${silentPort}/second`, events: ['webhook.test'] };
  const second = (await client.post('/webhooks', hook)).body.webhook.id;
  const reply = await client.post(`/webhooks/${second}/deliveries/${delivery}/replay`);
  t.is(reply.status, 404);
  t.is(reply.body.code, 'not_found');
});

test('an idempotency key of another workspace is unused here', async (t) => {
  const [mine, other] = [await api.newClient(), await api.newClient()];
  const theirs = await other.post('/posts', { body: 'Theirs', idempotency_key: 'k' });
  const own = await mine.post('/posts', { body: 'Mine', idempotency_key: 'k' });
  t.is(own.status, 201);
  t.not(own.body.post.id, theirs.body.post.id);
});

test('lists and counts exclude other workspaces, and their events reach no endpoint here', async (t) => {
  const { punctual } = api;
  const [mine, theirs] = [await api.newClient(), await ownedBy(punctual)];
  await storeChannel(punctual, theirs.client.workspaceId);
  const hook = { url: 'https://8.8.8.8/hook', events: ['post.failed'] };
  const { id } = (await mine.post('/webhooks', hook)).body.webhook;
  await punctual.orm.em.fork().transactional(async (em) => {
    const event = { type: 'post.failed', data: {} } as const;
    const { workspaceId } = theirs.client;
    t.is((await recordEvent(em, { ...event, workspaceId })).length, 1);
  });

  t.deepEqual((await mine.get(`/webhooks/${id}`)).body.deliveries, []);
  t.is((await mine.get('/webhooks')).body.webhooks.length, 1);
  t.deepEqual((await mine.get('/channels')).body, { channels: [] });
  t.deepEqual((await mine.get('/posts')).body.posts, []);
  t.deepEqual((await mine.get('/media')).body.media, []);
  const { posts, totals } = (await mine.get('/analytics')).body;
  t.deepEqual([posts, totals.posts], [[], 0]);
  t.is((await mine.get('/me')).body.channels, 0);
  t.is((await theirs.client.get('/me')).body.channels, 2);
});
