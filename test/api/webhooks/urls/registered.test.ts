import test from 'ava';
import {
  acceptedUrls,
  normalForms,
  otherUrls,
  ownUrls,
  privateAnswers,
  refusedUrls,
} from '../../../runtime/egress/support/urls.ts';
import { storedRows } from '../../../support/stored-rows.ts';
import { events, good, urlWorld, type UrlWorld } from './world.ts';

/** Registers an endpoint there, and sends another endpoint there: the answers of both. */
async function bothWays({ client }: UrlWorld, path: string, url: string) {
  return [await client.post('/webhooks', { url, events }), await client.patch(path, { url })];
}

/** The path of an endpoint that is to be changed. */
async function endpoint({ client }: UrlWorld): Promise<string> {
  const { webhook } = (await client.post('/webhooks', { url: good, events })).body;
  return `/webhooks/${webhook.id}`;
}

test('none of R01 to R56 can be registered, nor put in the place of a good one', async (t) => {
  const world = await urlWorld(t);
  const path = await endpoint(world);
  const urls = [...Object.values(refusedUrls).flat(), ...ownUrls];
  for (const url of urls) {
    for (const { status, body } of await bothWays(world, path, url)) {
      t.is(status, 400, url);
      t.is(body.code, 'invalid_webhook_url', url);
      t.regex(body.error, /^[A-Z].+\.$/v, url);
      t.deepEqual(body.details, [{ path: '/url', message: body.error }], url);
    }
  }

  t.is((await world.client.get(path)).body.webhook.url, good);
  t.is((await storedRows(world.punctual.orm)).webhook_endpoints, 1);
  t.deepEqual([world.asked, world.dialled], [[], []]);
});

test('the refusal of the service’s own host says so', async (t) => {
  const world = await urlWorld(t);
  const { body } = await world.client.post('/webhooks', { url: ownUrls[0], events });

  t.is(body.error, 'The URL leads to this service itself.');
});

test('all of A01 to A19 can be registered and put in the place of another, and are shown in their normal form', async (t) => {
  const world = await urlWorld(t);
  const { client } = world;
  const path = await endpoint(world);
  const urls = [...Object.values(acceptedUrls).flat(), ...otherUrls];
  for (const url of urls) {
    const [created, changed] = await bothWays(world, path, url);
    t.is(created?.status, 201, url);
    t.is(changed?.status, 200, url);
    t.is((await client.get(path)).body.webhook.url, created?.body.webhook.url);
    await client.delete(`/webhooks/${created?.body.webhook.id}`);
  }

  for (const [typed, kept] of Object.values(normalForms).flatMap(Object.entries)) {
    for (const { body } of await bothWays(world, path, typed)) {
      t.is(body.webhook.url, kept, typed);
    }
    const { webhooks } = (await client.get('/webhooks')).body;
    t.is(webhooks.at(-1).url, kept);
    await client.delete(`/webhooks/${webhooks.at(-1).id}`);
  }
  t.deepEqual(world.dialled, []);
});

test('R60 to R69: a name that leads to a private address now is refused while its owner still looks', async (t) => {
  const many = Array.from({ length: 65 }, (_, index) => `93.184.216.${index}`);
  const answers: Readonly<Record<string, readonly string[]>> = { ...privateAnswers, R69: many };
  const world = await urlWorld(
    t,
    async (host) => answers[host.split('.')[0]?.toUpperCase() ?? ''] ?? [],
  );
  const path = await endpoint(world);
  for (const id of Object.keys(answers)) {
    for (const { status, body } of await bothWays(world, path, `https://${id}.example.com/`)) {
      t.is(status, 400, id);
      t.is(body.code, 'invalid_webhook_url', id);
    }
  }

  t.is((await world.client.get(path)).body.webhook.url, good);
  t.is(world.asked.length, 2 * Object.keys(answers).length);
  t.deepEqual(world.dialled, []);
});

test('A18, A19: a name with nothing but IPv6, and one that DNS does not know yet, are taken', async (t) => {
  const world = await urlWorld(t, async (host) => {
    if (host === 'broken.example.com') {
      throw new Error('SERVFAIL');
    }

    return host === 'six.example.com' ? ['2606:4700:4700::1111'] : [];
  });
  const path = await endpoint(world);
  for (const name of ['six', 'later', 'broken']) {
    const [created, changed] = await bothWays(world, path, `https://${name}.example.com/`);
    t.is(created?.status, 201, name);
    t.is(changed?.status, 200, name);
  }
});
