import type { ExecutionContext } from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { moment } from '../../workflows/details.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { adminOf } from '../cli/admin/admin.ts';
import { backups, nullWhileAway } from '../support/backups.ts';
import { status } from '../support/answers.ts';
import { currentDetails } from '../support/current-details.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork, liveTexts } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startWorkers } from '../support/punctual.ts';
import { fakeChannel } from '../support/seed.ts';
import { visible } from '../support/visible.ts';
import { startWebhooks } from '../support/webhooks.ts';

const test = needs('temporal');
const second = 1000;
const hour = 3600 * second;

/** A Punctual with a workspace, two channels and an endpoint, and the test's operations on it. */
async function world(t: ExecutionContext) {
  const api = await startWebhooks(t);
  const { punctual } = api;
  const stop = await startWorkers(t, punctual);
  const client = await api.newClient();
  const receiver = api.receiver(status(204));
  await client.post('/webhooks', { url: receiver.url, events: ['post.published'] });
  const [network, other] = [fakeNetwork(), fakeNetwork()];
  const channel = await fakeChannel(punctual, client.workspaceId, network);
  const both = [channel, await fakeChannel(punctual, client.workspaceId, other)];
  const at = (inMs: number): string => new Date(Date.now() + inMs).toISOString();
  /** Repeats a call, because the first one after the database's return may fail. */
  const call = async (make: () => ReturnType<typeof client.post>) =>
    (await poll(make, ({ status: code }) => code < 500)).body.post;
  const show = (id: string) => call(() => client.get(`/posts/${id}`));
  type Rows = Record<string, unknown>[];
  const execute = (statement: string, values: readonly unknown[]): Promise<Rows | null> =>
    punctual.orm.em
      .fork()
      .execute<Rows>(statement, [...values])
      .catch(nullWhileAway);
  const sql = async (statement: string, values: readonly unknown[] = []): Promise<Rows> =>
    (await poll(
      () => execute(statement, values),
      (rows) => rows !== null,
    )) ?? [];
  return {
    punctual,
    stop,
    client,
    network,
    other,
    at,
    show,
    call,
    handleOf: (id: string) => punctual.temporal.client.workflow.getHandle(postWorkflowId(id)),
    /** @returns the id of a post whose text names its purpose. */
    make: async (body: string, inMs: number | null, channel_ids = [channel]): Promise<string> => {
      const time = inMs === null ? {} : { scheduled_at: at(inMs) };
      return (await call(() => client.post('/posts', { body, channel_ids, ...time }))).id;
    },
    both,
    move: (id: string, inMs: number) =>
      call(() => client.patch(`/posts/${id}`, { scheduled_at: at(inMs) })),
    /** Waits until a post is published. */
    out: (id: string) =>
      poll(
        () => show(id),
        (post) => post.status === 'published',
      ),
    sql,
    eventTypes: async (id: string) =>
      (await sql('select type from events where post_id = ? and run is not null', [id])).map(
        ({ type }) => type,
      ),
  };
}

type World = Awaited<ReturnType<typeof world>>;

/** The posts in the backup, named for their fate after it. */
async function postsOfBackup({ make, network, sql, show, out, both }: World) {
  const failed = new NetworkError('content_refused', 'Not this.', { accepted: 'no' });
  network.fates.push({ kind: 'fails', error: failed });
  const retried = await make('retried since', 0);
  await poll(
    () => show(retried),
    (post) => post.status === 'failed',
  );
  const everywhere = await make('published everywhere', 0);
  const before = await make('before', 0);
  await out(everywhere);
  await out(before);
  // The state between the end of the post's last channel and the end of the post.
  await sql(
    `with gone as (delete from deliveries d using events e where e.id = d.event_id and e.post_id = ?)
     update posts set status = 'publishing' where id = ?`,
    [everywhere, everywhere],
  );
  await sql('delete from events where post_id = ? and run is not null', [everywhere]);
  return {
    retried,
    everywhere,
    before,
    untouched: await make('untouched', hour),
    movedLater: await make('moved later', 2 * hour),
    movedEarlier: await make('moved earlier', hour),
    cancelled: await make('cancelled', hour),
    midway: await make('midway', hour, both),
    draft: await make('draft', null),
  };
}

/** Takes the backup while one more post is scheduled, which is published before the restore. @returns its id. */
async function backUp({ make, show }: World, take: () => Promise<void>): Promise<string> {
  // If the machine was too slow, repeats it with a post that is due later.
  for (let inMs = 20 * second; ; inMs *= 2) {
    const id = await make('between', inMs);
    await take();
    if ((await show(id)).status === 'scheduled') {
      return id;
    }
  }
}

type Posts = Awaited<ReturnType<typeof postsOfBackup>> & { readonly between: string };

/** Changes after the backup, which the restore loses. @returns the posts whose workflows ended. */
async function liveOn(my: World, posts: Posts) {
  const { client, call, make, move, out, show, other, handleOf } = my;
  await move(posts.movedLater, 3 * hour);
  await move(posts.movedEarlier, 0);
  await move(posts.draft, 0);
  await call(() => client.post(`/posts/${posts.cancelled}/cancel`));
  await call(() => client.post(`/posts/${posts.retried}/retry`));
  const made = await make('made since', hour);
  const busy = { accepted: 'no', retryAtMs: Date.now() + hour } as const;
  other.fates.push({ kind: 'fails', error: new NetworkError('network_unavailable', 'No.', busy) });
  await move(posts.midway, 0);
  await poll(
    () => show(posts.midway),
    ({ channels: [first, next] }) => first.status === 'published' && next.status === 'retrying',
  );
  const published = [posts.movedEarlier, posts.draft, posts.retried, posts.between];
  await Promise.all(published.map(out));
  const ended = [...published, posts.cancelled];
  await Promise.all(ended.map((id) => handleOf(id).result()));
  return { made, ended };
}

/** The steps of the page. @param beganAt The backup's start. @param since Posts that have ended since. */
async function restore(
  { punctual, stop }: World,
  putBack: () => Promise<void>,
  { beganAt, since }: { readonly beganAt: string; readonly since: readonly string[] },
): Promise<void> {
  await stop();
  const asked = `WorkflowType = 'publishPost' AND ExecutionStatus != 'Running' AND CloseTime > '${beganAt}'`;
  await poll(
    () => visible(punctual.temporal, asked, since.length), // Temporal's lists lag behind.
    (found) => since.every((id) => found.includes(postWorkflowId(id))),
  );
  await putBack();
  await adminOf(punctual).call('restore', 'finish', '--since', beganAt);
}

/** Waits until a post's workflow has a signal, and sleeps until the time in its row. */
async function assertAsleep(t: ExecutionContext, { show, handleOf }: World, id: string) {
  const { scheduled_at, body } = await show(id);
  const shown = await poll(
    () => currentDetails(handleOf(id)).catch(() => ''), // Its worker has stopped.
    (details) => /revision \d{8}/v.test(details),
  );
  t.true(shown.includes(moment(Date.parse(scheduled_at))), body);
}

test('after the steps of the page over a restored backup no post is sent twice, none is lost, and none is early', async (t) => {
  t.timeout(600_000);
  const my = await world(t);
  const { show, out, network, other } = my;
  const { take, putBack } = await backups(t, my.punctual);
  const known = await postsOfBackup(my);
  const beganAt = my.at(0);
  const posts = { ...known, between: await backUp(my, take) };
  const { made, ended } = await liveOn(my, posts);
  const texts = liveTexts(network);
  await restore(my, putBack, { beganAt, since: ended });

  await startWorkers(t, my.punctual);

  for (const id of ended) {
    const post = await show(id);
    t.is(post.status, 'failed', post.body);
    t.is(post.channels[0].status, 'unconfirmed', post.body);
  }

  const url = network.live.find(({ text }) => text === 'retried since')?.sent.url;
  const [{ channel_id }] = (await show(posts.retried)).channels;
  await my.call(() => my.client.post(`/posts/${posts.retried}/settle`, { channel_id, url }));
  t.is((await show(posts.retried)).status, 'published');
  t.is((await show(posts.before)).status, 'published');
  t.is((await out(posts.everywhere)).channels[0].status, 'published');
  t.deepEqual(await my.eventTypes(posts.everywhere), ['post.published']);
  await assertAsleep(t, my, posts.untouched);
  await assertAsleep(t, my, posts.movedLater);
  // Makes the post due now. The database does not have it.
  await my.handleOf(made).signal('reschedule', { revision: 2, dueAt: my.at(0) });
  t.is(await my.handleOf(made).result(), 'stopped');
  // The post is live on one channel: its workflow has that, but the restored row does not.
  t.is((await show(posts.midway)).status, 'failed');
  await assertPublished(t, my, [posts.untouched, posts.movedLater]);
  const all = [...texts, 'untouched', 'moved later'];
  t.deepEqual(liveTexts(network).toSorted(), all.toSorted());
  t.is(new Set(all).size, all.length);
  t.deepEqual(liveTexts(other), []);
});

/** Moves scheduled posts to now, and waits until they are published. */
async function assertPublished(
  t: ExecutionContext,
  { client, move }: World,
  ids: readonly string[],
) {
  for (const id of ids) {
    await move(id, 0);
  }

  for (const id of ids) {
    t.is((await client.finalPost(id)).channels.at(-1)?.status, 'published');
  }
}
