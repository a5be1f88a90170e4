import test from 'ava';
import { attemptDelivery } from '../../activities/attempt-delivery/attempt-delivery.ts';
import { finalizePost } from '../../activities/finalize-post.ts';
import { loseAccess } from '../../activities/publish-channel/lose-access.ts';
import type { PublishTarget } from '../../activities/publish-channel/target.ts';
import { newClient, type Client } from '../support/client.ts';
import { startApi, type Punctual } from '../support/punctual.ts';
import { startReceiver } from '../support/receiver.ts';
import { Contract } from '../support/contract.ts';
import { storeChannel } from '../support/seed.ts';

const outcomes = {
  'post.published': ['published', 'published'],
  'post.partial': ['published', 'failed'],
  'post.failed': ['failed', 'unconfirmed'],
} as const;
const lost = 'channel.needs_reconnect';
const probe = 'webhook.test';
const next = 'Service-Signature-Next';

test('every event goes out as the document describes it', async (t) => {
  const receiver = await startReceiver(t, (n) => (n === 2 ? 500 : 204));
  const punctual = await startApi(t, { allowPorts: [receiver.port] });
  const client = await newClient(punctual);
  const contract = await Contract.of(punctual.url);
  const sent = Object.keys(contract.document.webhooks);
  t.deepEqual(sent.toSorted(), [...Object.keys(outcomes), lost, probe].toSorted());
  const webhook = (await client.post('/webhooks', { url: receiver.url, events: sent })).body
    .webhook;

  const deliveryIds = await makeEvents(punctual, client);
  t.is(deliveryIds.length, sent.length - 1);
  for (const deliveryId of deliveryIds) {
    await attemptDelivery(punctual.deps, { workspaceId: client.workspaceId, deliveryId }).catch(
      () => 'to be tried again',
    );
  }
  await client.post(`/webhooks/${webhook.id}/rotate`);
  await client.post(`/webhooks/${webhook.id}/test`);

  t.deepEqual(
    receiver.received.map(({ headers }) => headers['service-event-type']),
    [...Object.keys(outcomes), lost, probe],
  );
  for (const { headers, body } of receiver.received) {
    const at = ['webhooks', String(headers['service-event-type']), 'post'];
    const schema = ['requestBody', 'content', String(headers['content-type']), 'schema'];
    t.deepEqual(contract.faults([...at, ...schema], JSON.parse(body)), []);
    const parameters = contract.at([...at, 'parameters']) as { name: string; required: boolean }[];
    t.deepEqual(
      parameters.flatMap(({ name, required }) => (required ? [] : [name])),
      [next],
    );
    // The new secret signs only after the rotation, which came before the last request.
    const isRotating = headers['service-event-type'] === probe;
    t.is(next.toLowerCase() in headers, isRotating);
    t.deepEqual(
      parameters.map(({ name }) => name.toLowerCase()).toSorted(),
      [
        next.toLowerCase(),
        ...ours(headers).filter((name) => name !== next.toLowerCase()),
      ].toSorted(),
    );
    for (const [index, { name }] of parameters.entries()) {
      const described = [...at, 'parameters', String(index), 'schema'];
      if (name !== next || isRotating) {
        t.deepEqual(contract.faults(described, headers[name.toLowerCase()]), [], name);
      }
    }
  }

  const seen = await client.get(`/webhooks/${webhook.id}`);
  t.deepEqual(
    new Set(seen.body.deliveries.map((one: { status: string }) => one.status)),
    new Set(['delivered', 'pending']),
  );
  t.deepEqual(contract.answerFaults('/webhooks/{id}', 'get', seen), []);
});

/** The names of the headers that are about the event and who sends it. */
const ours = (headers: object): string[] =>
  Object.keys(headers).filter((name) => /^(?:service-|webhook-|user-agent$)/v.test(name));

/** One event of each kind, in the order of the list above. @returns the deliveries that wait. */
async function makeEvents(punctual: Punctual, client: Client): Promise<string[]> {
  const { orm, deps } = punctual;
  const { workspaceId } = client;
  const channels = [
    await storeChannel(punctual, workspaceId),
    await storeChannel(punctual, workspaceId),
  ];
  const deliveryIds: string[] = [];
  for (const statuses of Object.values(outcomes)) {
    const request = { body: 'Hello.', channel_ids: channels, schedule_in_minutes: 60 };
    const postId: string = (await client.post('/posts', request)).body.post.id;
    const em = orm.em.fork();
    await em.execute(`update posts set status = 'publishing' where id = ?`, [postId]);
    for (const [index, status] of statuses.entries()) {
      await em.execute('update post_channels set status = ? where post_id = ? and channel_id = ?', [
        status,
        postId,
        channels[index],
      ]);
    }

    const end = { workspaceId, postId, revision: 1, canceled: false };
    deliveryIds.push(...(await finalizePost(deps, end)).deliveryIds);
  }

  const target = { workspaceId, channelId: channels[0] } as PublishTarget;
  const lostAccess = await orm.em
    .fork()
    .transactional((em) => loseAccess(em, deps, target, 'The access token was revoked.'));
  deliveryIds.push(...lostAccess);
  return deliveryIds;
}
