import { addFakeChannel } from '../../support/seed.ts';
import { fakeNetwork } from '../../support/networks.ts';
import { newClient, type Client } from '../../support/client.ts';
import { needs } from '../../support/needs.ts';
import { held, status, type Answer } from '../support/answers.ts';
import { sharedWorld } from '../support/shared-world.ts';
import type { StagedReceiver } from '../support/stage.ts';

const test = needs('temporal');
const world = sharedWorld(test, { networks: { fake: fakeNetwork() }, workers: true });

type Endpoint = { readonly id: string; readonly receiver: StagedReceiver };

async function subscribe(client: Client, answers: readonly Answer[]): Promise<Endpoint[]> {
  const endpoints: Endpoint[] = [];
  for (const answer of answers) {
    const receiver = world.stage.receiver(answer);
    const hook = { url: receiver.url, events: ['post.published'] };
    endpoints.push({ receiver, id: (await client.post('/webhooks', hook)).body.webhook.id });
  }

  return endpoints;
}

async function publish(client: Client): Promise<string> {
  const { body } = await client.post('/posts', {
    body: 'Hello',
    channel_ids: [await addFakeChannel(world.punctual.deps, client.workspaceId)],
    schedule_in_minutes: 0,
  });
  const { id, status: end } = await client.finalPost(body.post.id);
  return `${id} ${end}`;
}

test('a post that nobody subscribed to is published, and its event waits for no one', async (t) => {
  const client = await newClient(world.punctual);

  t.regex(await publish(client), / published$/v);

  const [counted] = await world.punctual.orm.em
    .fork()
    .execute<{ events: number; deliveries: number }[]>(
      `select (select count(*)::int from events where workspace_id = ?) as events,
       (select count(*)::int from deliveries where workspace_id = ?) as deliveries`,
      [client.workspaceId, client.workspaceId],
    );
  t.deepEqual(counted, { events: 1, deliveries: 0 });
});

test('one endpoint gets its event once', async (t) => {
  const client = await newClient(world.punctual);
  const [endpoint] = await subscribe(client, [status(204)]);
  await publish(client);

  t.is((await client.finalDelivery(endpoint?.id ?? '')).status, 'delivered');

  t.is(endpoint?.receiver.arrived.length, 1);
});

test('of ten endpoints one hangs: the other nine get the same bytes while it does', async (t) => {
  const client = await newClient(world.punctual);
  const { answer, waiting, lost, release } = held();
  const good = Array.from({ length: 9 }, () => status(204));
  const [slow, ...others] = await subscribe(client, [answer, ...good]);
  await publish(client);
  const first = await slow?.receiver.nth(1);
  for (const { receiver } of others) {
    t.is((await receiver.nth(1)).body, first?.body ?? '');
  }

  t.is(waiting(), 1);
  t.is(lost(), 0);
  release(status(204));
  for (const { id, receiver } of [slow, ...others].flatMap((each) => each ?? [])) {
    t.is((await client.finalDelivery(id)).status, 'delivered');
    t.is(receiver.arrived.length, 1);
  }
});
