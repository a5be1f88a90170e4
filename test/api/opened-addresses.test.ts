import { createServer } from 'node:http';
import type { ExecutionContext } from 'ava';
import { recordEvent } from '../../db/record-event.ts';
import { deliveryWorkflowId, webhooksQueue } from '../../workflows/messages.ts';
import { startReadyApi } from '../support/api-process.ts';
import { clientFor } from '../support/client.ts';
import { sharedApi } from '../support/kit.ts';
import { picture } from '../support/media-files.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { spawnWorker } from '../support/worker-process.ts';
import { listening } from '../support/listening.ts';

const test = needs('temporal');
const api = sharedApi(test);

/** A server in the private network that serves a picture. */
async function inside(t: ExecutionContext) {
  const bytes = await picture();
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.method ?? '');
    response.setHeader('content-type', 'image/png').end(bytes);
  });
  const port = await listening(t, server);
  return { asked, port, list: `127.0.0.1/32:${port}`, url: `http://127.0.0.1:${port}/x.png` };
}

/** An API process with these settings, and its answers to a webhook and a link at that server. */
async function responsesWith(t: ExecutionContext, url: string, settings: Record<string, string>) {
  const { databaseUrl, secretKey, temporalEnv } = api.punctual;
  const { workspaceId, key } = await api.newClient();
  const process = await startReadyApi(t, {
    ...temporalEnv,
    DATABASE_URL: databaseUrl,
    SECRET_KEY: secretKey,
    ...settings,
  });
  const client = clientFor(process.url, workspaceId, key);
  await poll(
    () => client.get('/me'),
    ({ status }) => status === 200,
  ); // Its first connections may be slow.
  const hook = await client.post('/webhooks', { url, events: ['post.failed'] });
  const link = await client.post('/posts', { body: 'x', media_urls: [url] });
  return { client, hook, link };
}

test('an address that is allowed for networks is refused for webhooks and media links', async (t) => {
  const { asked, list, url } = await inside(t);
  const { hook, link } = await responsesWith(t, url, { PUNCTUAL_EGRESS_ALLOW_NETWORKS: list });
  t.like(hook, { status: 400, body: { code: 'invalid_webhook_url' } });
  t.like(link, { status: 400, body: { code: 'invalid_media_url' } });
  t.deepEqual(asked, []);
});

test('an address that is allowed for webhooks is refused for media links', async (t) => {
  const { asked, list, url } = await inside(t);
  const { client, hook, link } = await responsesWith(t, url, {
    PUNCTUAL_EGRESS_ALLOW_WEBHOOKS: list,
  });
  t.is(hook.status, 201);
  t.like(link, { status: 400, body: { code: 'invalid_media_url' } });
  t.deepEqual(asked, []);
  const { status } = await client.post(`/webhooks/${hook.body.webhook.id}/test`);
  t.is(status, 200);
  t.deepEqual(asked, ['POST']);
});

test('an address that is allowed for media links is refused for webhooks', async (t) => {
  const { asked, list, url } = await inside(t);
  const { hook, link } = await responsesWith(t, url, { PUNCTUAL_EGRESS_ALLOW_DOWNLOADS: list });
  t.like(hook, { status: 400, body: { code: 'invalid_webhook_url' } });
  t.is(link.status, 201, JSON.stringify(link.body));
  t.deepEqual(asked, ['GET']);
});

test('an address that is allowed for networks is refused for a delivery', async (t) => {
  const { asked, list, url } = await inside(t);
  const { client, hook } = await responsesWith(t, url, { PUNCTUAL_EGRESS_ALLOW_WEBHOOKS: list });
  const { workspaceId } = client;
  const own = { PUNCTUAL_EGRESS_ALLOW_NETWORKS: list, PUNCTUAL_EGRESS_ALLOW_WEBHOOKS: '' };
  const { logged: workerSaid } = spawnWorker(t, api.punctual, [], undefined, own);
  await workerSaid('polling');
  const event = { workspaceId, type: 'post.failed', data: { post: { body: 'x' } } } as const;
  const em = api.punctual.orm.em.fork();
  const [deliveryId = ''] = await em.transactional((tx) => recordEvent(tx, event));
  await api.punctual.temporal.client.workflow.start('deliverWebhook', {
    workflowId: deliveryWorkflowId(deliveryId),
    taskQueue: webhooksQueue,
    args: [{ workspaceId, deliveryId }],
  });
  const path = `/webhooks/${hook.body.webhook.id}`;
  const [attempt] = await poll(
    async () => (await client.get(path)).body.deliveries[0]?.attempts ?? [],
    (attempts) => attempts.length > 0,
  );
  t.like(attempt, { response_status: null, error: 'blocked_destination' });
  t.deepEqual(asked, []);
});
