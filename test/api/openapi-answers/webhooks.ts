import { silentPort, type Owned } from '../owned.ts';
import type { Look } from './look.ts';

/** Every answer of the calls on webhooks that has a reason of its own. */
export async function webhooks({ client, webhook, delivery }: Owned, look: Look): Promise<void> {
  const hook = { url: `http://127.0.0.1:${silentPort}/hook`, events: ['post.failed'] };
  const at = `/webhooks/${webhook}`;
  const since = '?since=2026-01-01T00:00:00Z';
  look('post /webhooks/{id}/replay', await client.post(`${at}/replay${since}`));
  look(
    'post /webhooks/{id}/replay',
    await client.post(`/webhooks/${crypto.randomUUID()}/replay${since}`),
  );
  const replay = 'post /webhooks/{id}/deliveries/{delivery}/replay';
  look(replay, await client.post(`${at}/deliveries/${delivery}/replay`)); // Pending by now.
  look('post /webhooks/{id}/test', await client.post(`${at}/test`));
  const { deliveries } = (await client.get(`${at}/deliveries?status=failed`)).body;
  look(replay, await client.post(`${at}/deliveries/${deliveries[0].id}/replay`));

  look('post /webhooks/{id}/rotate', await client.post(`${at}/rotate`));
  look('get /webhooks', await client.get('/webhooks'));
  look('get /webhooks/{id}', await client.get(at));
  look('get /webhooks/{id}/deliveries', await client.get(`${at}/deliveries`));

  for (const wrong of [{ url: 'https://127.0.0.1/' }, { events: ['post.sent'] }, { evnts: [] }]) {
    look('post /webhooks', await client.post('/webhooks', { ...hook, ...wrong }));
    look('patch /webhooks/{id}', await client.patch(at, wrong));
  }

  look('patch /webhooks/{id}', await client.patch(at, { description: 'Ours' }));
  const tested = (await client.post(`${at}/test`)).body.delivery;
  look('patch /webhooks/{id}', await client.patch(at, { enabled: false }));
  look(replay, await client.post(`${at}/deliveries/${tested.id}/replay`));
  look('post /webhooks/{id}/replay', await client.post(`${at}/replay${since}`));
  const unknown = `/webhooks/${crypto.randomUUID()}`;
  look('patch /webhooks/{id}', await client.patch(unknown, { description: 'Ours' }));
  for (let n = 0; n < 10; n += 1) {
    look('post /webhooks', await client.post('/webhooks', hook));
  }

  look('delete /webhooks/{id}', await client.delete(at));
}
