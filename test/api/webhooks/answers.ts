import type { Client, Reply } from '../../support/client.ts';
import type { Punctual } from '../../support/punctual.ts';
import { storeDelivery } from './stored-delivery.ts';

type Look = (path: string, method: string, reply: Reply) => void;

const one = '/webhooks/{id}';

/** Has every answer given that is the webhook calls' own, and shows each. Nobody need listen at `url`. */
export async function webhookAnswers(
  punctual: Punctual,
  client: Client,
  url: string,
  look: Look,
): Promise<void> {
  const body = { url, events: ['post.failed', 'webhook.test'] };
  const first = await client.post('/webhooks', { ...body, description: 'Ours' });
  look('/webhooks', 'post', first);
  const path = `/webhooks/${first.body.webhook.id}`;
  const refused = [{ url: 'https://127.0.0.1/' }, { events: ['post.sent'] }, { events: 1 }];
  for (const fault of refused) {
    look('/webhooks', 'post', await client.post('/webhooks', { ...body, ...fault }));
    look(one, 'patch', await client.patch(path, fault));
  }

  look(one, 'patch', await client.patch(path, { description: null }));
  look(`${one}/rotate`, 'post', await client.post(`${path}/rotate`));
  await deliveries(punctual, client, path, look);
  look('/webhooks', 'get', await client.get('/webhooks'));
  look(one, 'get', await client.get(path));
  look(one, 'delete', await client.delete(path));
  for (let n = 0; n < 11; n += 1) {
    look('/webhooks', 'post', await client.post('/webhooks', body));
  }
}

async function deliveries(
  punctual: Punctual,
  client: Client,
  path: string,
  look: Look,
): Promise<void> {
  look(`${one}/test`, 'post', await client.post(`${path}/test`));
  const id = await storeDelivery(punctual, client.workspaceId, 'failed');
  await storeDelivery(punctual, client.workspaceId, 'failed');
  const list = `${one}/deliveries`;
  for (const query of ['', '?limit=1&status=failed', '?cursor=x']) {
    look(list, 'get', await client.get(`${path}/deliveries${query}`));
  }

  const replay = `${list}/{delivery}/replay`;
  for (const _ of ['accepted', 'refused']) {
    look(replay, 'post', await client.post(`${path}/deliveries/${id}/replay`));
  }

  for (const query of ['?since=2020-01-01T00:00:00Z', '']) {
    look(`${one}/replay`, 'post', await client.post(`${path}/replay${query}`));
  }
}
