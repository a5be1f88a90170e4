import { setTimeout as sleep } from 'node:timers/promises';
import { sweep as sweepOnce } from '../../activities/sweep/sweep.ts';
import { NetworkError } from '../../networks/network.ts';
import { storeUntold } from '../support/seed.ts';
import { fakeNetwork, heldNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startWorkers } from '../support/punctual.ts';
import { targetOf, tcpGate } from '../support/tcp-gate.ts';
import { freshNamespace } from '../support/temporal.ts';
import { untilBegun } from '../support/until-begun.ts';
import { sweepWorld } from './sweep-world.ts';

const test = needs('temporal');
const minutes = 60_000;

/** How long a busy machine may take to publish a post that is due. */
const patienceMs = 90_000;

test('a post that sleeps well is left alone, and looked at again after ten minutes only', async (t) => {
  const { schedule, sweep, finds, postHandle } = await sweepWorld(t, fakeNetwork());
  const id = await schedule(30 * minutes);
  const events = async (): Promise<number> =>
    (await postHandle(id).fetchHistory()).events?.length ?? 0;
  await untilBegun(postHandle(id), 5);
  const before = await events();

  t.like(await sweep(), { looked: 1, unanswered: 0, workflowGone: 0, overdue: 0 });
  t.like(await sweep(9 * minutes), { looked: 0 });
  t.like(await sweep(11 * minutes), { looked: 1, workflowGone: 0, overdue: 0 });

  await sleep(1500); // Longer than the relay waits between two looks.
  t.is(await events(), before);
  t.deepEqual(await finds(), []);
});

test('drafts, finished posts and posts that the outbox holds are not looked at', async (t) => {
  const world = await sweepWorld(t, fakeNetwork(), { withoutWorkers: true });
  const { punctual, client, sweep } = world;
  for (const status of ['draft', 'published', 'failed']) {
    const id = await storeUntold(punctual, client.workspaceId, new Date());
    await punctual.orm.em
      .fork()
      .execute('update posts set status = ?, synced_revision = revision where id = ?', [
        status,
        id,
      ]);
  }

  await storeUntold(punctual, client.workspaceId, new Date());
  const sql =
    'select status, revision, synced_revision, checked_at, updated_at from posts order by id';
  const rows = () => punctual.orm.em.fork().execute(sql);
  const before = await rows();

  t.deepEqual(await sweep(10 * minutes), {
    looked: 0,
    unanswered: 0,
    workflowGone: 0,
    overdue: 0,
    deliveriesGone: 0,
    forgotten: 0,
  });
  t.deepEqual(await rows(), before);
});

test('a post that was cancelled while Temporal was asked about it is not found', async (t) => {
  const { punctual, client, schedule, finds } = await sweepWorld(t, fakeNetwork());
  const id = await schedule(30 * minutes);
  const ofPost = async (): Promise<'gone'> => {
    await client.post(`/posts/${id}/cancel`);
    return 'gone'; // As it is by then.
  };
  const workflows = { ...punctual.deps.workflows, ofPost };

  t.like(await sweepOnce({ ...punctual.deps, workflows }), { looked: 1, workflowGone: 0 });

  t.deepEqual(await finds(), []);
  t.is((await client.get(`/posts/${id}`)).body.post.status, 'draft');
});

test('a post that is being sent for longer than usual is not found', async (t) => {
  const { network, client, schedule, sweep, finds } = await sweepWorld(t, heldNetwork());
  const id = await schedule(0);
  await network.held();

  t.like(await sweep(10 * minutes), { looked: 1, overdue: 0 });
  t.like(await sweep(12 * minutes), { looked: 1, overdue: 0 });

  network.release();
  t.is((await client.finalPost(id, patienceMs)).status, 'published');
  t.deepEqual(await finds(), []);
});

test('a post that waits for its next try is not found', async (t) => {
  const { network, client, schedule, sweep, finds } = await sweepWorld(t, fakeNetwork());
  const error = new NetworkError('network_unavailable', 'Down.', { taken: 'no' });
  network.fates.push({ kind: 'fails', error });
  const id = await schedule(0);
  await poll(
    async () => (await client.get(`/posts/${id}`)).body.post.channels[0].status,
    (status) => status === 'retrying',
    patienceMs,
  );

  t.like(await sweep(10 * minutes), { looked: 1, overdue: 0 });
  t.like(await sweep(12 * minutes), { looked: 1, overdue: 0 });

  t.deepEqual(await finds(), []);
});

test('of ten sweeps at the same time one finds what is lost', async (t) => {
  const { network, client, schedule, sweep, finds, postHandle } = await sweepWorld(
    t,
    fakeNetwork(),
  );
  const id = await schedule(8000);
  await postHandle(id).terminate('lost');

  const swept = await Promise.all(Array.from({ length: 10 }, () => sweep()));

  t.deepEqual(
    swept.map(({ workflowGone }) => workflowGone).toSorted(),
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
  );
  t.is((await finds()).length, 1);
  await client.finalPost(id, patienceMs);
  t.is(network.sends.length, 1);
});

test('while Temporal does not answer nothing is taken for lost', async (t) => {
  const real = await freshNamespace();
  const gate = await tcpGate(t, targetOf(real['TEMPORAL_ADDRESS'] ?? '', 7233));
  const temporalEnv = { ...real, TEMPORAL_ADDRESS: gate.address };
  const options = { withoutWorkers: true, temporalEnv };
  const { network, punctual, client, schedule, finds } = await sweepWorld(
    t,
    fakeNetwork(),
    options,
  );
  const later = () => new Date(Date.now() + minutes);
  const ids = [await schedule(2000), await schedule(2000)];
  await gate.close();

  const swept = await sweepOnce({ ...punctual.deps, now: later });
  t.like(swept, { looked: 0, unanswered: 2, workflowGone: 0, overdue: 0 });

  t.deepEqual(await finds(), []);
  await gate.open();
  await startWorkers(t, punctual);
  await Promise.all(ids.map((id) => client.finalPost(id, patienceMs)));
  t.is(network.sends.length, 2);
});

test('a post that was retried while its workflow was gone from Temporal belongs to the outbox', async (t) => {
  const { punctual, schedule, sweep, finds, postHandle } = await sweepWorld(t, fakeNetwork(), {
    withoutWorkers: true,
  });
  const id = await schedule(30 * minutes);
  await postHandle(id).terminate('lost');
  await punctual.orm.em.fork().execute('update posts set revision = 2 where id = ?', [id]);

  t.like(await sweep(), { looked: 0 });
  t.deepEqual(await finds(), []);
});
