import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { readRestoreCounter } from '../../db/restore-counter.ts';
import { freePort } from '../../scripts/ports.ts';
import { loadStoredCounter } from '../../temporal/namespace.ts';
import { sweep } from '../../activities/sweep/sweep.ts';
import { NetworkError } from '../../networks/network.ts';
import { keepRestoreCounter } from '../../worker/run-worker.ts';
import { adminOf } from '../cli/admin/admin.ts';
import { backups, nullWhileAway } from '../support/backups.ts';
import { newClient } from '../support/client.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork, fakeNetworks, liveTexts } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startApi, startWorkers, type Punctual } from '../support/punctual.ts';
import { rawCall } from '../support/raw-call.ts';
import { fakeChannel } from '../support/seed.ts';
import { testLog } from '../support/temporal.ts';
import { killed, spawnWorker } from '../support/worker-process.ts';

const test = needs('temporal');
const hour = 3_600_000;

const knownTo = async ({ orm, temporal }: Punctual): Promise<number> => {
  const { installation } = await readRestoreCounter(orm);
  return (await loadStoredCounter(temporal.client, installation)) ?? 0;
};

/** Makes the next beat due. On a working database they are a minute apart. */
const makeDue = ({ orm }: Punctual) =>
  orm.em.fork().execute('update installation set beat_at = null');

const countsAgain = async (punctual: Punctual): Promise<void> => {
  const before = await knownTo(punctual);
  await makeDue(punctual);
  await poll(
    () => knownTo(punctual),
    (known) => known > before,
  );
};

/** Three beats, as workers make them in three minutes. */
async function countThrice(t: ExecutionContext, punctual: Punctual): Promise<void> {
  const place = { orm: punctual.orm, client: punctual.temporal.client, log: testLog };
  const stop = keepRestoreCounter(place);
  t.teardown(stop);
  for (let nth = 0; nth < 3; nth += 1) {
    await countsAgain(punctual);
  }

  await stop();
}

// One scenario, step by step.
// oxlint-disable-next-line max-lines-per-function
test('a worker sends nothing from a restored database until "restore finish", and no post is published twice', async (t) => {
  t.timeout(300_000);
  const punctual = await startApi(t, { networks: fakeNetworks });
  const stop = await startWorkers(t, punctual);
  const client = await newClient(punctual);
  const network = fakeNetwork();
  const channel = await fakeChannel(punctual, client.workspaceId, network);
  const { take, putBack } = await backups(t, punctual);
  /** Repeats a statement, because the first ones after the database's return fail. */
  const sql = (statement: string) =>
    poll(
      () => punctual.orm.em.fork().execute(statement).catch(nullWhileAway),
      (rows) => rows !== null,
    );
  const make = async (body: string): Promise<string> => {
    const scheduled_at = new Date(Date.now() + hour).toISOString();
    const post = { body, channel_ids: [channel], scheduled_at };
    const { status, body: answer } = await client.post('/posts', post);
    t.is(status, 201, JSON.stringify(answer));
    return answer.post.id;
  };
  const now = (id: string) =>
    client.patch(`/posts/${id}`, { scheduled_at: new Date().toISOString() });

  await countThrice(t, punctual);
  const [once, untouched] = [await make('once'), await make('untouched')];
  await take();
  await sql('select 1');
  await now(once);
  await client.finalPost(once);
  await countThrice(t, punctual);
  await stop();
  await putBack();

  const port = await freePort();
  const worker = spawnWorker(t, punctual, [], undefined, {
    PUNCTUAL_WORKER_HEALTH_PORT: String(port),
  });
  await poll(
    () => Promise.resolve(worker.output()),
    (log) => /older than its workflows: it was restored .*restore finish/v.test(log),
  );
  await sql("update posts set scheduled_at = now() where body = 'once'");
  await sleep(3000);
  t.notRegex(worker.output(), /"msg":"polling"/v);
  t.regex((await rawCall(`http://127.0.0.1:${port}/readyz`)).body.polling, /restore finish/v);
  t.regex((await rawCall(`${punctual.url}/status`)).body.worker, /restore finish/v);
  t.is((await client.get(`/posts/${once}`)).body.post.status, 'scheduled');
  t.deepEqual(liveTexts(network), ['once']);

  const { text, data } = await adminOf(punctual).call('restore', 'finish');
  t.like(data, { ended: [once], unconfirmedChannels: 1, syncedPosts: 1 }, text);
  await worker.logged('polling');
  await countsAgain(punctual);
  await killed(worker.child);
  await startWorkers(t, punctual);
  t.is((await client.get(`/posts/${once}`)).body.post.channels[0].status, 'unconfirmed');
  await now(untouched);
  await client.finalPost(untouched);
  t.deepEqual(liveTexts(network).toSorted(), ['once', 'untouched']);
  await t.throwsAsync(adminOf(punctual).call('restore', 'finish'), {
    message: /is not older than its workflows, so nothing was changed/v,
  });
  const future = ['--since', '2999-03-01T03:00:00Z'];
  await t.throwsAsync(adminOf(punctual).call('restore', 'finish', ...future), {
    message: /--since must be in the past/v,
  });
});

// One scenario, step by step.
// oxlint-disable-next-line max-lines-per-function
test('a database that is seconds older than its workflows publishes nothing twice while all processes run on, and says so', async (t) => {
  t.timeout(400_000);
  const punctual = await startApi(t, { networks: fakeNetworks });
  const stop = await startWorkers(t, punctual);
  const client = await newClient(punctual);
  const [network, other] = [fakeNetwork(), fakeNetwork()];
  const one = await fakeChannel(punctual, client.workspaceId, network);
  const both = [one, await fakeChannel(punctual, client.workspaceId, other)];
  const { take, putBack } = await backups(t, punctual);
  /** Repeats a call, because the first ones after the database's return fail. */
  const call = async (method: 'get' | 'post' | 'patch', path: string, body?: object) => {
    const made = () => (method === 'get' ? client.get(path) : client[method](path, body));
    const { status, body: answer } = await poll(made, (reply) => reply.status < 500);
    t.true(status < 300, JSON.stringify(answer));
    return answer.post;
  };
  const soon = (inMs: number) => ({ scheduled_at: new Date(Date.now() + inMs).toISOString() });
  const make = async (body: string, channel_ids = [one], due: object = soon(hour)) =>
    String((await call('post', '/posts', { body, channel_ids, ...due })).id);
  const now = (id: string) => call('patch', `/posts/${id}`, soon(0));
  const until = (id: string, check: (post: Awaited<ReturnType<typeof call>>) => boolean) =>
    poll(() => call('get', `/posts/${id}`), check);
  const ended = (id: string) => until(id, ({ status }) => ['published', 'failed'].includes(status));
  const refuse = (where: typeof network, retryAtMs?: number) => {
    const code = retryAtMs === undefined ? 'content_refused' : 'network_unavailable';
    const how = { accepted: 'no', retryAtMs } as const;
    where.fates.push({ kind: 'fails', error: new NetworkError(code, 'No.', how) });
  };
  const isOlder = async () => {
    const read = readRestoreCounter(punctual.orm).catch(nullWhileAway);
    return ((await read)?.behindSince ?? null) !== null;
  };
  const forgetIt = () =>
    punctual.orm.em.fork().execute('update installation set behind_since = null');

  await countThrice(t, punctual);
  refuse(network);
  const retried = await make('retried since', [one], soon(0));
  await ended(retried);
  const posts = {
    swept: await make('published since'),
    moved: await make('published since, and moved by its owner after the restore'),
    partial: await make('published in part since', both),
    stopped: await make('published in part since, then cancelled', both),
    draft: await make('a draft, published since', [one], {}),
    retried,
  };
  const untouched = await make('untouched');
  const waiting = await make('waiting');
  await take();

  await Promise.all(
    [posts.swept, posts.moved, posts.draft].map(async (id) => ended((await now(id)).id)),
  );
  refuse(other);
  await now(posts.partial);
  await ended(posts.partial);
  refuse(other, Date.now() + hour);
  await now(posts.stopped);
  await until(posts.stopped, ({ channels: [, last] }) => last.status === 'retrying');
  await call('post', `/posts/${posts.stopped}/cancel`);
  await call('post', `/posts/${retried}/retry`);
  await ended(retried);
  const handleOf = (id: string) => punctual.temporal.client.workflow.getHandle(`post-${id}`);
  await Promise.allSettled(Object.values(posts).map((id) => handleOf(id).result()));
  t.false(await isOlder(), 'a cancel, a new time and a retry are no restore');
  const texts = [...liveTexts(network), ...liveTexts(other)].toSorted();
  await putBack();

  const found: Record<string, () => Promise<unknown>> = {
    draft: () => now(posts.draft),
    moved: () => now(posts.moved),
    partial: () => now(posts.partial),
    stopped: () => now(posts.stopped),
    retried: () => call('post', `/posts/${retried}/retry`),
    swept: () => sweep(punctual.deps),
  };
  for (const [what, step] of Object.entries(found)) {
    await poll(forgetIt, () => true);
    await step();
    await poll(isOlder, Boolean);
    t.pass(what);
  }

  t.regex((await rawCall(`${punctual.url}/status`)).body.worker, /older .*restore finish/v);
  t.deepEqual([...liveTexts(network), ...liveTexts(other)].toSorted(), texts);
  await stop();
  await now(waiting); // It has a workflow that never sent anything, so it goes out without a person.
  await poll(
    async () => (await handleOf(waiting).fetchHistory()).events?.length,
    (count) => Number(count) > 5,
  );
  const { data } = await adminOf(punctual).call('restore', 'finish');
  t.like(data, { unconfirmedChannels: 8 });
  await startWorkers(t, punctual);
  await now(untouched);
  t.is((await ended(untouched)).status, 'published');
  t.is((await ended(waiting)).status, 'published');
  for (const id of Object.values(posts)) {
    const { status, channels } = await call('get', `/posts/${id}`);
    t.is(status, 'failed');
    t.true(channels.every((channel: { status: string }) => channel.status === 'unconfirmed'));
  }

  t.false(await isOlder());
  t.deepEqual([...liveTexts(network), ...liveTexts(other)].toSorted(), [
    ...texts,
    'untouched',
    'waiting',
  ]);
  t.deepEqual([...new Set(liveTexts(network))], liveTexts(network));
});

test('a part whose intent the database lost is not sent again by the next attempt, and the workers stop', async (t) => {
  t.timeout(300_000);
  const punctual = await startApi(t, { networks: fakeNetworks });
  const stop = await startWorkers(t, punctual);
  const client = await newClient(punctual);
  const network = fakeNetwork();
  const channel = await fakeChannel(punctual, client.workspaceId, network);
  const retryAtMs = Date.now() + 20_000;
  network.fates.push({ kind: 'lost' });
  network.blind = new NetworkError('network_unavailable', 'Down.', {
    accepted: 'unknown',
    retryAtMs,
  });
  const post = { body: 'sent', channel_ids: [channel], scheduled_at: new Date().toISOString() };
  const { id } = (await client.post('/posts', post)).body.post;
  const statusOf = async () => (await client.get(`/posts/${id}`)).body.post.channels[0].status;
  await poll(statusOf, (status) => status === 'retrying');
  const run = (statement: string) => punctual.orm.em.fork().execute(statement, [id]);
  await run(`delete from post_parts a using post_channels pc
    where pc.id = a.post_channel_id and pc.post_id = ?`);
  await run(`update post_channels set status = 'scheduled', tries = 0, retry_at = null,
    error = null, error_code = null where post_id = ?`);
  await run("update posts set status = 'scheduled' where id = ?");
  network.blind = undefined;

  const { orm } = punctual;
  await poll(async () => (await readRestoreCounter(orm)).behindSince, Boolean);
  await stop();
  const { data } = await adminOf(punctual).call('restore', 'finish', '--since', post.scheduled_at);
  t.like(data, { unconfirmedChannels: 1 });
  await startWorkers(t, punctual);
  const handle = punctual.temporal.client.workflow.getHandle(`post-${id}`);
  await t.throwsAsync(handle.result());
  t.is(await statusOf(), 'unconfirmed');
  t.is((await readRestoreCounter(orm)).behindSince, null);
  t.deepEqual(network.sends.length, 1);
});

test('a running worker ends when an older database replaces its own', async (t) => {
  t.timeout(300_000);
  const punctual = await startApi(t);
  await countThrice(t, punctual);
  const worker = spawnWorker(t, punctual, []);
  await worker.logged('polling');

  await punctual.orm.em
    .fork()
    .execute("update installation set beats = 1, beat_at = now() - interval '5 minutes'");

  await t.throwsAsync(worker.logged('never said'), { message: /older than its workflows/v });
});
