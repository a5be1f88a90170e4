import test, { type ExecutionContext } from 'ava';
import { attemptDelivery } from '../../../activities/attempt-delivery/attempt-delivery.ts';
import { newClient } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { startReceiver } from '../../support/receiver.ts';
import { storeDelivery, storeEvent } from '../../support/seed-deliveries.ts';

const first = { url: 'https://8.8.8.8/hook', events: ['post.failed'], description: 'Ours' };

async function world(t: ExecutionContext, allowPorts: readonly number[] = []) {
  let aheadMs = 0;
  const now = (): Date => new Date(Date.now() + aheadMs);
  const pass = (ms: number): void => {
    aheadMs += ms;
  };
  const punctual = await startApi(t, { allowPorts, now });
  const client = await newClient(punctual);
  const { secret: _, ...webhook } = (await client.post('/webhooks', first)).body.webhook;
  return { punctual, client, webhook, path: `/webhooks/${webhook.id}`, pass };
}

test('only the fields that are sent change', async (t) => {
  const { client, webhook, path } = await world(t);
  const changes = [
    { url: 'https://8.8.4.4/other?x=1' },
    { events: ['webhook.test', 'post.published'] },
    { description: 'Theirs — “now”' },
    { description: '' },
    { url: 'https://1.1.1.1/', events: ['post.partial'], description: 'All at once' },
    {},
  ];
  for (const change of changes) {
    const reply = await client.patch(path, change);
    Object.assign(webhook, change);
    t.is(reply.status, 200);
    t.deepEqual(reply.body, { webhook });
    t.deepEqual((await client.get(path)).body.webhook, webhook);
  }
});

test('null clears the description, and events named twice count once', async (t) => {
  const { client, webhook, path } = await world(t);
  const reply = await client.patch(path, {
    description: null,
    events: ['post.failed', 'post.partial', 'post.failed'],
  });
  const events = ['post.failed', 'post.partial'];
  t.deepEqual(reply.body.webhook, { ...webhook, description: '', events });
});

test('what would be refused at registration is refused here too, and nothing changes', async (t) => {
  const { client, webhook, path } = await world(t);
  const refused: [object, string, string[]][] = [
    [{ url: 'http://example.com/hook' }, 'invalid_webhook_url', ['/url']],
    [{ url: 'https://127.0.0.1/' }, 'invalid_webhook_url', ['/url']],
    [{ url: 'https://[::ffff:10.0.0.1]/' }, 'invalid_webhook_url', ['/url']],
    [{ url: 'https://user:secret@example.com/' }, 'invalid_webhook_url', ['/url']],
    [{ url: 'https://8.8.8.8/\0' }, 'invalid_webhook_url', ['/url']],
    [{ url: '' }, 'invalid_webhook_url', ['/url']],
    [{ url: 'https://1.1.1.1/', events: [] }, 'invalid_events', ['/events']],
    [{ events: ['post.sent'] }, 'invalid_events', ['/events']],
    [{ url: null }, 'invalid_request', ['/url']],
    [{ events: null }, 'invalid_request', ['/events']],
    [{ events: 'post.failed' }, 'invalid_request', ['/events']],
    [{ description: 1 }, 'invalid_request', ['/description']],
    [{ description: 'x'.repeat(501) }, 'invalid_request', ['/description']],
    [{ description: 'a\0' }, 'invalid_request', ['/description']],
    [{ description: 'a\ud800' }, 'invalid_request', ['/description']],
    [{ description: 'New', secret: 'mine' }, 'invalid_request', ['/secret']],
    [{ description: 'New', id: webhook.id }, 'invalid_request', ['/id']],
    [[], 'invalid_request', ['']],
  ];
  for (const [body, code, paths] of refused) {
    const reply = await client.patch(path, body);
    t.is(reply.status, 400, JSON.stringify(body));
    t.is(reply.body.code, code, JSON.stringify(body));
    const named = reply.body.details.map((detail: { path: string }) => detail.path);
    t.deepEqual(named, paths, JSON.stringify(body));
  }

  t.deepEqual((await client.get(path)).body.webhook, webhook);
});

test('another workspace’s endpoint cannot be changed, nor one that is not there', async (t) => {
  const { punctual, client, webhook, path } = await world(t);
  const other = await newClient(punctual);
  for (const target of [path, `/webhooks/${crypto.randomUUID()}`]) {
    for (const body of [{}, { description: 'Mine' }, { url: 'https://127.0.0.1/' }]) {
      const reply = await other.patch(target, body);
      t.is(reply.status, 404);
      t.is(reply.body.code, 'not_found');
    }
  }

  t.deepEqual((await client.get(path)).body.webhook, webhook);
});

test('a delivery on its way goes to the new URL from its next attempt on', async (t) => {
  const [before, after] = [await startReceiver(t, () => 500), await startReceiver(t)];
  const { punctual, client, path, pass } = await world(t, [before.port, after.port]);
  const { workspaceId } = client;
  await client.patch(path, { url: before.url });
  const deliveryId = await storeDelivery(punctual, workspaceId, 'pending');
  const attempt = (): Promise<string> =>
    attemptDelivery(punctual.deps, { workspaceId, deliveryId });
  await t.throwsAsync(attempt);
  pass(90_000); // The first wait is a minute, and a tenth at most.

  await client.patch(path, { url: after.url });
  t.is(await attempt(), 'delivered');

  t.is(before.received.length, 1);
  t.is(after.received.length, 1);
  t.is(after.received[0]?.body, before.received[0]?.body);
});

test('new events count for what happens from then on', async (t) => {
  const { punctual, client, path } = await world(t);
  const { workspaceId } = client;
  await client.patch(path, { events: ['post.published'] });
  t.is(await storeEvent(punctual, workspaceId, 'post.failed'), undefined);
  t.truthy(await storeEvent(punctual, workspaceId, 'post.published'));
});
