import test from 'ava';
import { recordEvent } from '../../db/record-event.ts';
import { newClient } from '../support/client.ts';
import { startApi } from '../support/punctual.ts';
import { everyRoute } from './every-route.ts';
import { rawCall } from './raw-call.ts';
import { storeChannel } from './stored-channel.ts';
import { storedRows } from './stored-rows.ts';

test('an id of another workspace is answered as one that does not exist, on every route that takes one', async (t) => {
  const punctual = await startApi(t);
  const [mine, other] = [await newClient(punctual), await newClient(punctual)];
  const post = await other.post('/posts', { body: 'private words' });
  const events = ['post.published'];
  const hook = await other.post('/webhooks', { url: 'https://8.8.8.8/private', events });
  const channel = await storeChannel(punctual, other.workspaceId);
  const theirs = [post.body.post.id, hook.body.webhook.id, channel, other.workspaceId];
  t.is((await other.get(`/posts/${theirs[0]}`)).status, 200);
  t.is((await other.get(`/webhooks/${theirs[1]}`)).status, 200);
  const before = await storedRows(punctual.orm);

  const marker = crypto.randomUUID();
  const routes = everyRoute(marker).filter(({ path }) => path.includes(marker));
  t.true(routes.length >= 2);
  for (const { method, path } of routes) {
    const ask = async (id: string): Promise<[number, string]> => {
      const reply = await rawCall(punctual.url + path.replace(marker, id), {
        method,
        headers: { authorization: `Bearer ${mine.key}`, 'content-type': 'application/json' },
        ...(method === 'GET' ? {} : { body: '{}' }),
      });
      return [reply.status, JSON.stringify(reply.body).replaceAll(id, 'ID')];
    };
    const unknown = await ask(crypto.randomUUID());
    for (const id of theirs) {
      t.deepEqual(await ask(id), unknown, `${method} ${path}`);
    }

    t.is(unknown[0], 404, `${method} ${path}`);
  }

  t.deepEqual(await storedRows(punctual.orm), before);
});

test('an id of another workspace in a body is refused as one that does not exist', async (t) => {
  const punctual = await startApi(t);
  const [mine, other] = [await newClient(punctual), await newClient(punctual)];
  const own = await storeChannel(punctual, mine.workspaceId);
  const channel = await storeChannel(punctual, other.workspaceId, { handle: '@them@social.test' });
  const bodies = (id: string): object[] => [
    { body: 'x', channel_ids: [id] },
    { body: 'x', channel_ids: [own, id], schedule_in_minutes: 5 },
    { body: 'x', channel_ids: [own], channel_bodies: { [id]: 'y' } },
  ];
  const ask = async (id: string): Promise<string[]> => {
    const replies = [];
    for (const body of bodies(id)) {
      replies.push(await mine.post('/posts', body));
    }

    t.true(replies.every(({ status }) => status === 400));
    return replies.map((reply) => JSON.stringify(reply.body).replaceAll(id, 'ID'));
  };

  t.deepEqual(await ask(channel), await ask(crypto.randomUUID()));
  t.is((await storedRows(punctual.orm)).posts, 0);
});

test('lists and counts hold nothing of another workspace, and its events reach no endpoint here', async (t) => {
  const punctual = await startApi(t);
  const [mine, other] = [await newClient(punctual), await newClient(punctual)];
  await storeChannel(punctual, other.workspaceId);
  const hook = { url: 'https://8.8.8.8/hook', events: ['post.failed'] };
  const { id } = (await mine.post('/webhooks', hook)).body.webhook;
  await punctual.orm.em.fork().transactional(async (em) => {
    const event = { type: 'post.failed', createdAt: new Date(), data: {} } as const;
    t.deepEqual(await recordEvent(em, { ...event, workspaceId: other.workspaceId }), []);
  });

  t.deepEqual((await mine.get(`/webhooks/${id}`)).body.deliveries, []);
  t.deepEqual((await mine.get('/channels')).body, { channels: [] });
  t.is((await mine.get('/me')).body.channels, 0);
  t.is((await other.get('/me')).body.channels, 1);
});
