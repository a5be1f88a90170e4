import { NetworkError } from '../../networks/network.ts';
import { workflowStates } from '../../temporal/workflow-states.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { storeDelivery } from '../support/seed-deliveries.ts';
import { fakeNetwork, heldNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startWorkers } from '../support/punctual.ts';
import { startReceiver } from '../support/receiver.ts';
import { freshNamespace, temporalClient } from '../support/temporal.ts';
import { runOf } from '../temporal/started-with.ts';
import { sweepLater, sweepWorld } from './sweep-world.ts';

const test = needs('temporal');
const minutes = 60_000;

/** How long a busy machine may take to publish a post that is due. */
const patienceMs = 90_000;

test('a sleeping post whose workflow was terminated goes out at its time, once', async (t) => {
  const { network, client, schedule, sweep, finds, postHandle } = await sweepWorld(
    t,
    fakeNetwork(),
  );
  const id = await schedule(10_000);
  await postHandle(id).terminate('lost');

  t.like(await sweep(), { looked: 1, workflowGone: 1, overdue: 0, deliveriesGone: 0 });

  const post = await client.finalPost(id, patienceMs);
  t.true(Date.parse(post.published_at ?? '') >= Date.parse(post.scheduled_at ?? ''));
  t.is(network.live.length, 1);
  t.deepEqual(await finds(), [{ kind: 'workflow_gone', post_id: id, delivery_id: null }]);
  t.like(await sweep(5 * minutes), { workflowGone: 0 });
});

test('a post whose workflow was terminated after the network took it still ends, with one event', async (t) => {
  const world = await sweepWorld(t, heldNetwork());
  const { network, punctual, client, schedule, sweep, postHandle } = world;
  const id = await schedule(0);
  await network.held();
  await postHandle(id).terminate('lost');
  network.release();
  await poll(
    async () => (await client.get(`/posts/${id}`)).body.post.channels[0].status,
    (status) => status === 'published',
    patienceMs,
  );
  t.is((await client.get(`/posts/${id}`)).body.post.status, 'publishing');

  t.like(await sweep(minutes), { workflowGone: 1 });

  t.is((await client.finalPost(id, patienceMs)).status, 'published');
  t.is(network.live.length, 1);
  t.is(network.sends.length, 1);
  const events = await punctual.orm.em.fork().execute<unknown[]>('select id from events');
  t.is(events.length, 1);
});

test('a post whose workflow was terminated before it is known whether the network has it is not sent twice', async (t) => {
  const { network, client, schedule, sweep, postHandle } = await sweepWorld(t, fakeNetwork());
  network.fates.push({ kind: 'lost' });
  network.blind = new NetworkError('network_unavailable', 'Down.', { taken: 'no' });
  const id = await schedule(0);
  await poll(
    async () => (await client.get(`/posts/${id}`)).body.post.channels[0].status,
    (status) => status === 'retrying',
    patienceMs,
  );
  await postHandle(id).terminate('lost');
  network.blind = undefined;

  t.like(await sweep(minutes), { workflowGone: 1 });

  t.is((await client.finalPost(id, patienceMs)).status, 'published');
  t.is(network.live.length, 1);
  t.is(network.sends.length, 1);
});

test('a retry whose workflow was terminated is made', async (t) => {
  const { network, client, schedule, sweep, postHandle } = await sweepWorld(t, heldNetwork());
  const refused = new NetworkError('content_refused', 'No.', { taken: 'no' });
  network.fates.push({ kind: 'fails', error: refused });
  network.release();
  const id = await schedule(0);
  t.is((await client.finalPost(id, patienceMs)).status, 'failed');
  await postHandle(id).result();
  const unavailable = new NetworkError('network_unavailable', 'Later.', { taken: 'no' });
  network.fates.push({ kind: 'fails', error: unavailable });
  await client.post(`/posts/${id}/retry`);
  await poll(
    async () => (await client.get(`/posts/${id}`)).body.post.channels[0].status,
    (status) => status === 'retrying',
    patienceMs,
  );
  await postHandle(id).terminate('lost');

  t.like(await sweep(minutes), { workflowGone: 1 });

  t.is((await client.finalPost(id, patienceMs)).status, 'published');
  t.is(network.live.length, 1);
});

test('a delivery whose workflow was terminated is made', async (t) => {
  const receiver = await startReceiver(t);
  const options = { allowPorts: [receiver.port] };
  const world = await sweepWorld(t, fakeNetwork(), options);
  const { punctual, client, sweep, finds, deliveryHandle } = world;
  const hook = { url: receiver.url, events: ['post.failed'] };
  const endpoint = (await client.post('/webhooks', hook)).body.webhook.id;
  const id = await storeDelivery(punctual, client.workspaceId, 'pending');
  t.like(await sweep(minutes), { looked: 0 }); // Its post's workflow may be about to start it.

  t.like(await sweep(3 * minutes), { looked: 1, deliveriesGone: 1 });

  t.is((await client.finalDelivery(endpoint)).status, 'delivered');
  t.is(await deliveryHandle(id).result(), 'delivered');
  t.is(receiver.received.length, 1);
  t.deepEqual(await finds(), [{ kind: 'delivery_gone', post_id: null, delivery_id: id }]);
});

test('when Temporal lost all that it knew, every waiting post goes out or sleeps again', async (t) => {
  const world = await sweepWorld(t, fakeNetwork(), { withoutWorkers: true });
  const { network, punctual, client, schedule, finds } = world;
  const days = 24 * 60 * minutes;
  const [now, soon, far] = [
    await schedule(1000),
    await schedule(30 * minutes),
    await schedule(3 * days),
  ];

  const temporalEnv = await freshNamespace();
  const temporal = temporalClient(t, temporalEnv);
  const deps = { ...punctual.deps, workflows: workflowStates(temporal.client) };
  const anew = { ...punctual, temporal, temporalEnv, deps };
  await startWorkers(t, anew);
  t.like(await sweepLater(anew, 40_000), { looked: 2, workflowGone: 2 });

  t.is((await client.finalPost(now, patienceMs)).status, 'published');
  const isAsleep = (id: string) =>
    poll(
      () => runOf(anew, id),
      (run) => run !== null,
    );
  t.truthy(await isAsleep(soon));
  t.is(await runOf(anew, far), null);
  t.like(await sweepLater(anew, 3 * days - 50 * minutes), { workflowGone: 1 });
  t.truthy(await isAsleep(far));
  t.is(network.live.length, 1);
  t.is((await finds()).length, 3);
  t.is(
    (await temporal.client.workflow.getHandle(postWorkflowId(far)).describe()).status.name,
    'RUNNING',
  );
});
