import test from 'ava';
import { held, status } from '../support/answers.ts';
import { sharedWebhooks } from '../support/webhooks.ts';
import { delivered, endpointWithHeldSlots, events } from './support/held-slots.ts';

const api = sharedWebhooks(test);

test.serial(
  'many hanging endpoints of other workspaces on one host delay no event for an endpoint there',
  async (t) => {
    const { answer, waiting, lost, release } = held();
    const others = await Promise.all(Array.from({ length: 17 }, () => api.subscribe(answer)));
    const hanging = others.flatMap(({ event, attempt }) =>
      [1, 2, 3, 4].map(async () => attempt(await event())),
    );
    await Promise.all(others.map(({ receiver }) => receiver.nth(4)));
    const { event, attempt } = await api.subscribe(status(204));

    t.deepEqual(await attempt(await event()), { kind: 'done', status: 'delivered' });

    t.is(waiting(), 68);
    t.is(lost(), 0);
    release(status(204));
    t.true((await Promise.all(hanging)).every(({ kind }) => kind === 'done'));
  },
);

test('a hanging endpoint delays no other of the same workspace', async (t) => {
  const { answer, waiting, release } = held();
  const subscribed = await endpointWithHeldSlots(api, answer);
  const { client, workspaceId, attempt, receiver } = subscribed;
  const hanging = (await events(subscribed, 4)).map((id) => attempt(id));
  await receiver.nth(4);
  const healthy = api.receiver(status(204));
  const hook = { url: healthy.url, events: ['post.failed'] };
  const { id } = (await client.post('/webhooks', hook)).body.webhook;
  await subscribed.event();
  const [other] = await api.punctual.orm.em
    .fork()
    .execute<{ id: string }[]>(
      'select id from deliveries where endpoint_id = ? and workspace_id = ?',
      [id, workspaceId],
    );

  t.deepEqual(await attempt(other?.id ?? ''), delivered);

  t.is(waiting(), 4);
  t.is(healthy.arrived.length, 1);
  release(status(204));
  await Promise.all(hanging);
});
