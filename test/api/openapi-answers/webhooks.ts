import { silentPort, type Owned } from '../owned.ts';
import type { RecordAnswer } from './record-answer.ts';

/** Every response of the webhook calls that needs a case of its own. */
export async function webhooks(
  { client, webhook, delivery, event }: Owned,
  recordAnswer: RecordAnswer,
): Promise<void> {
  const hook = { url: `http://127.0.0.1:${silentPort}/hook`, events: ['post.failed'] };
  const at = `/webhooks/${webhook}`;
  const since = '?since=2026-01-01T00:00:00Z';
  recordAnswer('post /webhooks/{id}/replay', await client.post(`${at}/replay${since}`));
  recordAnswer(
    'post /webhooks/{id}/replay',
    await client.post(`/webhooks/${crypto.randomUUID()}/replay${since}`),
  );
  const replay = 'post /webhooks/{id}/deliveries/{delivery}/replay';
  recordAnswer(replay, await client.post(`${at}/deliveries/${delivery}/replay`)); // Pending by now.
  recordAnswer('post /webhooks/{id}/test', await client.post(`${at}/test`));
  const { deliveries } = (await client.get(`${at}/deliveries?status=failed`)).body;
  recordAnswer(replay, await client.post(`${at}/deliveries/${deliveries[0].id}/replay`));

  recordAnswer('post /webhooks/{id}/rotate', await client.post(`${at}/rotate`));
  recordAnswer('get /webhooks', await client.get('/webhooks'));
  recordAnswer('get /webhooks/{id}', await client.get(at));
  recordAnswer('get /webhooks/{id}/deliveries', await client.get(`${at}/deliveries`));

  for (const description of ['Ours', 'Ours', 'Theirs']) {
    const once = { 'idempotency-key': 'webhook' };
    recordAnswer('post /webhooks', await client.post('/webhooks', { ...hook, description }, once));
  }

  for (const wrong of [{ url: 'https://127.0.0.1/' }, { events: ['post.sent'] }, { evnts: [] }]) {
    recordAnswer('post /webhooks', await client.post('/webhooks', { ...hook, ...wrong }));
    recordAnswer('patch /webhooks/{id}', await client.patch(at, wrong));
  }

  recordAnswer('patch /webhooks/{id}', await client.patch(at, { description: 'Ours' }));
  const tested = (await client.post(`${at}/test`)).body.delivery;
  recordAnswer('patch /webhooks/{id}', await client.patch(at, { enabled: false }));
  recordAnswer(replay, await client.post(`${at}/deliveries/${tested.id}/replay`));
  recordAnswer('post /webhooks/{id}/replay', await client.post(`${at}/replay${since}`));
  const unknown = `/webhooks/${crypto.randomUUID()}`;
  recordAnswer('patch /webhooks/{id}', await client.patch(unknown, { description: 'Ours' }));
  for (let n = 0; n < 10; n += 1) {
    recordAnswer('post /webhooks', await client.post('/webhooks', hook));
  }

  recordAnswer('delete /webhooks/{id}', await client.delete(at));
  recordAnswer('get /events', await client.get('/events'));
  recordAnswer('get /events/{id}', await client.get(`/events/${event}`));
}
