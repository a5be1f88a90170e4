import { sweep } from '../../activities/sweep/sweep.ts';
import { readRestoreCounter } from '../../db/restore-counter.ts';
import { readLatestRun } from '../../temporal/latest-run.ts';
import { adminOf } from '../cli/admin/admin.ts';
import { backups, nullWhileAway } from '../support/backups.ts';
import { newClient } from '../support/client.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork, fakeNetworks, liveTexts } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startApi, startWorkers } from '../support/punctual.ts';
import { fakeChannel } from '../support/seed.ts';
import { untilBegun } from '../support/until-begun.ts';

const test = needs('temporal');
const hour = 3_600_000;

// One scenario, step by step.
// oxlint-disable-next-line max-lines-per-function
test('a post whose cancel, deletion or new time a failover lost is not published at its old time, and the workers stop', async (t) => {
  t.timeout(300_000);
  const punctual = await startApi(t, { networks: fakeNetworks });
  const stop = await startWorkers(t, punctual);
  const client = await newClient(punctual);
  const network = fakeNetwork();
  const channel = await fakeChannel(punctual, client.workspaceId, network);
  const { take, putBack } = await backups(t, punctual);
  const sql = (statement: string, ...values: unknown[]) =>
    poll(
      () => punctual.orm.em.fork().execute(statement, values).catch(nullWhileAway),
      (rows) => rows !== null,
    );
  const handleOf = (id: string) => punctual.temporal.client.workflow.getHandle(`post-${id}`);
  const at = (hours: number) => new Date(Date.now() + hours * hour).toISOString();
  const behindSince = async () => (await readRestoreCounter(punctual.orm)).behindSince;
  const make = async (body: string): Promise<string> => {
    const post = { body, channel_ids: [channel], scheduled_at: at(1) };
    const { id } = (await client.post('/posts', post)).body.post;
    await untilBegun(handleOf(id), 5);
    return id;
  };
  const posts = [await make('cancelled'), await make('deleted'), await make('moved')] as const;
  const [cancelled, deleted, moved] = posts;
  const since = at(0);
  await take();
  await poll(
    () => client.post(`/posts/${cancelled}/cancel`),
    ({ status }) => status === 200,
  );
  t.is((await client.delete(`/posts/${deleted}`)).status, 200);
  t.is((await client.patch(`/posts/${moved}`, { scheduled_at: at(2) })).status, 200);
  t.is(await handleOf(cancelled).result(), 'stopped');
  t.is(await handleOf(deleted).result(), 'stopped');
  await poll(
    async () => (await readLatestRun(punctual.temporal.client, moved))?.revision,
    (revision) => revision === 2,
  );
  await putBack();

  for (const id of posts) {
    await sql("update posts set scheduled_at = now() - interval '3 minutes' where id = ?", id);
    await poll(async () => {
      await sweep(punctual.deps);
      return behindSince();
    }, Boolean);
    // So that the next proof is not this one's.
    await sql(
      "update posts set synced_revision = revision, checked_at = 'infinity' where id = ?",
      id,
    );
    await sql('update installation set behind_since = null');
  }

  await stop();
  const { data } = await adminOf(punctual).call('restore', 'finish', '--since', since);
  t.like(data, { unconfirmedChannels: 3, syncedPosts: 0 });
  await startWorkers(t, punctual);
  await sweep(punctual.deps);
  const last = { body: 'after it', channel_ids: [channel], scheduled_at: at(0) };
  await client.finalPost((await client.post('/posts', last)).body.post.id);
  t.deepEqual(liveTexts(network), ['after it']);
  t.is(await behindSince(), null);
});
