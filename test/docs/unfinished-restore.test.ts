import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { readRestoreCounter } from '../../db/restore-counter.ts';
import { freePort } from '../../scripts/ports.ts';
import { loadStoredCounter } from '../../temporal/namespace.ts';
import { keepRestoreCounter } from '../../worker/restored-database.ts';
import { adminOf } from '../cli/admin.ts';
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
