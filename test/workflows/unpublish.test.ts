import { WorkflowNotFoundError } from '@temporalio/client';
import { sweep } from '../../activities/sweep/sweep.ts';
import { unpublishPost } from '../../services/posts/unpublish-post.ts';
import { unpublishWorkflowId } from '../../workflows/messages.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork, liveTexts } from '../support/networks.ts';
import { NetworkError } from '../../networks/network.ts';
import { poll } from '../support/poll.ts';
import { fakeChannel } from '../support/seed.ts';
import { sharedWebhooks } from '../support/webhooks.ts';

const test = needs('temporal');
const api = sharedWebhooks(test, { workers: true });

/** A thread that is published on two channels, with an endpoint for its events. */
async function publishedThread() {
  const client = await api.newClient();
  const [first, second] = [fakeNetwork(), fakeNetwork()];
  const channels = [
    await fakeChannel(api.punctual, client.workspaceId, first),
    await fakeChannel(api.punctual, client.workspaceId, second),
  ];
  const content = { thread: ['One', 'Two'], channel_ids: channels, schedule_in_minutes: 0 };
  const id: string = (await client.post('/posts', content)).body.post.id;
  await client.finalPost(id);
  const shown = async () => (await client.get(`/posts/${id}`)).body.post;
  const unpublish = (body: object = {}) => client.post(`/posts/${id}/unpublish`, body);
  const statuses = async (): Promise<string[]> => {
    const { channels: all } = await shown();
    return all.map(
      (one: { status: string; unpublish: { status: string } | null }) =>
        `${one.status} ${one.unpublish?.status ?? '-'}`,
    );
  };
  const events = async () => {
    const rows = await api.punctual.orm.em
      .fork()
      .execute<{ body: string }[]>(
        `select body from events where post_id = ? and type = 'post.unpublished' order by id`,
        [id],
      );
    return rows.map(({ body }) => JSON.parse(body).data.post.channels);
  };
  const handle = () => api.punctual.temporal.client.workflow.getHandle(unpublishWorkflowId(id));
  return { client, channels, first, second, id, shown, unpublish, statuses, events, handle };
}

const equals =
  (wanted: readonly string[]) =>
  (seen: readonly string[]): boolean =>
    seen.join() === wanted.join();

test('a published thread is gone from all networks, one event has the results, and it is never sent again', async (t) => {
  const { client, first, second, id, shown, unpublish, statuses, events, handle } =
    await publishedThread();
  const urls = (await shown()).channels.map(({ url }: { url: string }) => url);
  t.is((await unpublish()).status, 202);
  await poll(events, ({ length }) => length === 1);

  t.deepEqual(await statuses(), ['removed removed', 'removed removed']);
  t.deepEqual([...liveTexts(first), ...liveTexts(second)], []);
  const post = await shown();
  t.like(post, { status: 'published', summary: { published: 2, removed: 2 } });
  t.deepEqual(
    post.channels.map(({ url }: { url: string }) => url),
    urls,
  );
  t.is(await handle().result(), 'removed');
  t.is((await unpublish()).status, 202);
  t.is((await client.post(`/posts/${id}/retry`)).body.code, 'nothing_to_retry');
  const [listed] = (await client.get('/posts')).body.posts;
  t.is(listed.post_targets[0].status, 'removed');
  t.is((await events()).length, 1);
});

test('a request that the API could not sync is carried out by the relay', async (t) => {
  const { client, channels, first, second, id, statuses, events } = await publishedThread();
  const scope = { workspaceId: client.workspaceId, postId: id };
  await unpublishPost(api.punctual.deps, scope, channels.slice(0, 1));
  await poll(events, ({ length }) => length === 1);
  t.deepEqual(await statuses(), ['removed removed', 'published -']);
  t.deepEqual([...liveTexts(first), ...liveTexts(second)], ['One', 'Two']);
});

test('a removal whose workflow was terminated is started again by a sweep, and sends one event', async (t) => {
  const { first, second, id, unpublish, statuses, events, handle } = await publishedThread();
  const down = new NetworkError('network_unavailable', 'Down.', { accepted: 'no' });
  Object.assign(first, { keepsPosts: down });
  Object.assign(second, { keepsPosts: down });
  await unpublish();
  await poll(statuses, equals(['published pending', 'published pending']));
  await poll(
    () =>
      handle()
        .terminate('lost')
        .then(
          () => true,
          () => false,
        ),
    Boolean,
  );
  Object.assign(first, { keepsPosts: undefined });
  Object.assign(second, { keepsPosts: undefined });
  const { deps, orm } = api.punctual;
  await sweep({ ...deps, now: () => new Date(Date.now() + 180_000) });

  await poll(statuses, equals(['removed removed', 'removed removed']));
  await poll(events, ({ length }) => length === 1);
  const [row] = await orm.em
    .fork()
    .execute<{ done: boolean }[]>(
      'select not is_being_removed and synced_revision = revision as done from posts where id = ?',
      [id],
    );
  t.true(row?.done);
});

test('a second request during a removal is carried out too, and the workflow fails when a channel keeps its post', async (t) => {
  const { channels, first, second, unpublish, statuses, events, handle } = await publishedThread();
  const held = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const { remove } = first;
  first.remove = async (...args) => {
    begun.resolve();
    await held.promise;
    return (await remove?.(...args)) ?? 'not_found';
  };
  second.keepsPosts = new NetworkError('permission_missing', 'No.', { accepted: 'no' });
  await unpublish({ channel_ids: [channels[0]] });
  await begun.promise;
  await unpublish({ channel_ids: [channels[1]] });
  held.resolve();
  await poll(statuses, equals(['removed removed', 'published failed']));
  await t.throwsAsync(handle().result(), { message: /failed/v });
  const [results] = (await events()).slice(-1);
  t.like(results, [
    { status: 'removed' },
    { status: 'published', unpublish: { status: 'failed', error_code: 'permission_missing' } },
  ]);
});

test('a removal that is cancelled in Temporal ends as failed, and can be requested again', async (t) => {
  const { first, second, unpublish, statuses, events, handle } = await publishedThread();
  for (const network of [first, second]) {
    network.keepsPosts = new NetworkError('network_unavailable', 'Down.', { accepted: 'no' });
  }

  await unpublish();
  await poll(
    // The call starts the workflow after its answer.
    async () => (await handle().describe().catch(unlessMissing))?.raw.pendingActivities ?? [],
    (pending) => pending.length === 2 && pending.every(({ attempt }) => (attempt ?? 0) > 1),
  );
  await handle().cancel();
  await poll(events, ({ length }) => length === 1);
  t.deepEqual(await statuses(), ['published failed', 'published failed']);
  for (const network of [first, second]) {
    network.keepsPosts = undefined;
  }

  await unpublish();
  await poll(statuses, equals(['removed removed', 'removed removed']));
});

function unlessMissing(error: unknown): undefined {
  if (!(error instanceof WorkflowNotFoundError)) {
    throw error;
  }
}
