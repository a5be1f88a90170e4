import type { WorkflowHandle } from '@temporalio/client';
import { NetworkError } from '../../networks/network.ts';
import { ensureSearchAttributes } from '../../temporal/ensure-search-attributes.ts';
import { postSummary } from '../../temporal/sync-post.ts';
import { channelLabel, moment } from '../../workflows/details.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { dueAtKey } from '../../workflows/search-attributes.ts';
import { adminOf } from '../cli/admin/admin.ts';
import { status } from '../support/answers.ts';
import { currentDetails } from '../support/current-details.ts';
import { endOf } from '../support/end-of.ts';
import { beforeTests } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork, fakeNetworksNamed } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startWorkers } from '../support/punctual.ts';
import { fakeChannel, setStatus } from '../support/seed.ts';
import { testLog } from '../support/temporal.ts';
import { untilBegun } from '../support/until-begun.ts';
import { visible } from '../support/visible.ts';
import { startWebhooks } from '../support/webhooks.ts';

const test = needs('temporal');

/** A service on a Temporal with our search attributes. */
const shared = beforeTests(test, async (scope) => {
  const api = await startWebhooks(scope, {
    networks: fakeNetworksNamed('good', 'busy', 'refuses'),
  });
  const { punctual } = api;
  await poll(() => ensureSearchAttributes(punctual.temporal, testLog), Boolean);
  await startWorkers(scope, punctual);
  return api;
});

/** A workspace with a channel on each network. */
async function workspace() {
  const { punctual, newClient } = shared();
  const client = await newClient();
  const networks = { good: fakeNetwork(), busy: fakeNetwork(), refuses: fakeNetwork() };
  const connect = (name: keyof typeof networks): Promise<string> =>
    fakeChannel(punctual, client.workspaceId, networks[name], name);
  const channels = {
    good: await connect('good'),
    busy: await connect('busy'),
    refuses: await connect('refuses'),
  };
  return {
    ...networks,
    channels,
    client,
    /** @param at Its due time, now by default. @param to Its channels, all by default. */
    schedule: async (at?: string, to = Object.values(channels)): Promise<string> => {
      const time = at ? { scheduled_at: at } : { schedule_in_minutes: 0 };
      const content = { body: 'This text must not be in Temporal', channel_ids: to };
      return (await client.post('/posts', { ...content, ...time })).body.post.id;
    },
    /** Adds a webhook for failed and partial posts. @param code The status that its receiver returns. */
    subscribe: (code: number) => {
      const { url } = shared().receiver(status(code));
      return client.post('/webhooks', { url, events: ['post.failed', 'post.partial'] });
    },
    /** The workflow of the workspace's only delivery. */
    delivery: async (): Promise<WorkflowHandle> => {
      const [row] = await punctual.orm.em
        .fork()
        .execute<{ id: string }[]>('select id from deliveries where workspace_id = ?', [
          client.workspaceId,
        ]);
      return punctual.temporal.client.workflow.getHandle(`delivery-${row?.id}`);
    },
    handleOf: (post: string) => punctual.temporal.client.workflow.getHandle(postWorkflowId(post)),
  };
}

test('the UI shows the time and workspace of a waiting post', async (t) => {
  const { client, schedule, handleOf } = await workspace();
  const dueAt = new Date(Date.now() + 3_600_000).toISOString();
  const post = await schedule(dueAt);
  const handle = await untilBegun(handleOf(post), 5);

  const details = await currentDetails(handle);
  for (const word of [
    moment(Date.parse(dueAt)),
    'revision 1',
    client.workspaceId,
    `/api/v1/posts/${post}`,
  ]) {
    t.true(details.includes(word), details);
  }

  const later = new Date(Date.now() + 7_200_000).toISOString();
  await client.patch(`/posts/${post}`, { scheduled_at: later });
  await poll(
    () => currentDetails(handle),
    (shown) => shown.includes(moment(Date.parse(later))) && shown.includes('revision 2'),
  );
  t.is((await dueOf(handle))?.toISOString(), later);
  await client.post(`/posts/${post}/cancel`);
  await handle.result();
  t.regex(await currentDetails(handle), /is a draft/v);
});

const dueOf = async (handle: WorkflowHandle): Promise<Date | undefined> =>
  (await handle.describe()).typedSearchAttributes.get(dueAtKey);

test('a post is found by its accounts, due time and external id, which its summary names', async (t) => {
  const { client, channels, handleOf } = await workspace();
  const dueAt = new Date(Date.now() + 3_600_000).toISOString();
  const { post } = (
    await client.post('/posts', {
      body: 'This text must not be in Temporal',
      channel_ids: [channels.good, channels.busy],
      scheduled_at: dueAt,
      external_id: 'album-17',
    })
  ).body;

  const { temporal } = shared().punctual;
  for (const query of [
    `ExternalId = 'album-17'`,
    `Handles = '@me'`,
    `DueAt > '${dueAt.slice(0, 19)}Z' and ExecutionStatus = 'Running'`,
  ]) {
    const found = await visible(temporal, `${query} and WorkspaceId = '${client.workspaceId}'`, 1);
    t.deepEqual(found, [`post-${post.id}`], query);
  }

  const due = moment(Date.parse(dueAt));
  t.is(
    await (await handleOf(post.id).describe()).staticSummary(),
    `Good @me, Busy @me · first due ${due} · external id album-17`,
  );
});

test('long handles of one workspace keep no post from its end, and none of others from being found', async (t) => {
  const { client, channels, good, handleOf, schedule } = await workspace();
  const { punctual, newClient } = shared();
  const long = await Promise.all(
    Array.from({ length: 12 }, () =>
      fakeChannel(punctual, client.workspaceId, fakeNetwork(), 'good'),
    ),
  );
  await punctual.orm.em
    .fork()
    .execute(`update channels set handle = id || repeat('名', 80) where id = any(?::uuid[])`, [
      `{${long.join()}}`,
    ]);
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
  await untilBegun(handleOf(await schedule(inAnHour, long)));
  const other = await newClient();
  const channel = await fakeChannel(punctual, other.workspaceId, good, 'good');
  const draft = { body: 'x', channel_ids: [channel], scheduled_at: inAnHour };
  await other.post('/posts', draft);
  await visible(punctual.temporal, `WorkspaceId = '${other.workspaceId}'`, 1);

  const moved = await schedule(inAnHour, [channels.good]);
  await untilBegun(handleOf(moved));
  await client.patch(`/posts/${moved}`, { channel_ids: long, schedule_in_minutes: 0 });
  t.is(await handleOf(moved).result(), 'published');
});

test('a summary stays within the limit of Temporal, whatever the handles and the external id', (t) => {
  const handle = `@${'名'.repeat(200)}`;
  const accounts = Array.from({ length: 20 }, () => ({ network: 'mastodon', handle }));
  const summary = postSummary({ accounts, externalId: '名'.repeat(255) }, null);
  t.true(Buffer.byteLength(summary) < 350);
  t.false(summary.includes('\u{FFFD}'));
});

test('a handle or an external id in the UI is a text, not Markdown', (t) => {
  const handle = '@a_b (c.example) [d](https://e.example) **f** `g` _h_ <i> \\';
  const shown = String.raw`@a_b (c.example) \[d\](https://e.example) \*\*f\*\* \`g\` \_h\_ \<i\> \\`;
  t.is(channelLabel({ network: 'x', handle }), `X ${shown}`);
  t.is(channelLabel(JSON.parse('{"network":"x"}')), 'X ', 'a claim of an older version');
  t.true(postSummary({ accounts: [], externalId: handle }, null).endsWith(`id ${shown}`));
});

test('the UI shows the state of each channel of a post, its error and the time of the next attempt', async (t) => {
  const { busy, refuses, schedule, handleOf } = await workspace();
  busy.fates.push({ kind: 'fails', error: error('network_unavailable') });
  refuses.fates.push({ kind: 'fails', error: error('content_refused') });
  const handle = handleOf(await schedule());

  const details = await poll(
    () => currentDetails(handle).catch(() => ''),
    (shown) => shown.includes('content_refused') && shown.includes('**published**'),
  );

  t.true(details.includes(`- Good @me: **published**\n`), details);
  t.true(details.includes(`- Busy @me: **under way**\n`), details);
  const failed = `- Refuses @me: **failed**, \`content_refused\`\n`;
  t.true(details.includes(failed), details);
  const [pending] = await pendingActivities(handle, 2);
  t.is(pending?.attempt, 2);
  const when = /^network_unavailable; the next attempt is at (?<at>\S+Z)$/v;
  const at = when.exec(pending?.lastFailure?.message ?? '')?.groups?.['at'] ?? '';
  const { seconds, nanos } = pending?.lastAttemptCompleteTime ?? {};
  const waitMs = Date.parse(at) - (Number(seconds) * 1000 + (nanos ?? 0) / 1e6);
  t.true(waitMs > 0 && waitMs < 31_000, `${at} is ${waitMs} ms after the attempt`);
  t.is(pending?.activityType?.name, 'publishChannel');
  t.is(await summaryOf(handle, 'publishChannel', 'Busy'), 'Publish to Busy @me');
});

test('the UI shows where and why a post failed, and what its webhook waits for', async (t) => {
  const { refuses, schedule, handleOf, subscribe, delivery } = await workspace();
  await subscribe(500);
  refuses.fates.push({ kind: 'fails', error: error('content_refused') });
  const handle = handleOf(await schedule());
  t.is(await poll(() => endOf(handle).catch(() => ''), Boolean), 'post_partial');

  const details = await currentDetails(handle);
  t.true(details.startsWith('The post is **partial**. Webhooks to deliver: 1.\n'), details);
  const failed = `- Refuses @me: **failed**, \`content_refused\`\n`;
  t.true(details.includes(failed), details);
  t.true(details.includes(`- Good @me: **published**\n`), details);

  const child = await delivery();
  const [attempt] = await pendingActivities(child, 2);
  t.regex(
    attempt?.lastFailure?.message ?? '',
    /^Attempt 1: http_error \(500\); the next one is at \S+Z$/v,
  );
  t.regex(await currentDetails(child), /Being delivered \(round 1\)/v);
});

test('an operator starts the next attempt of a waiting channel at once', async (t) => {
  const { client, busy, channels, schedule, handleOf } = await workspace();
  busy.fates.push({ kind: 'fails', error: error('network_unavailable') });
  const post = await schedule(undefined, [channels.busy]);
  await pendingActivities(await untilBegun(handleOf(post), 1), 2);
  const { retry_at: retryAt } = (await client.get(`/posts/${post}`)).body.post.channels[0];
  await setStatus(shared().punctual, post, 'publishing', ['scheduled']); // As after a crash
  const retryNow = () => adminOf(shared().punctual).call('post', 'retry-now', '--post', post);
  const { data } = await retryNow();

  t.is(data.started, 1);
  const { status: ended, published_at: at } = await client.finalPost(post);
  t.is(ended, 'published');
  t.true(Date.parse(at ?? '') < Date.parse(retryAt) - 10_000, `${at} is not before ${retryAt}`);
  t.regex((await retryNow()).text, /none that waits\. \S+ @\S+ is published\. .*post show/v);
});

const error = (code: NetworkError['code']): NetworkError =>
  new NetworkError(code, 'These words must not be in Temporal.', { accepted: 'no' });

/** Waits until an activity is at this attempt. @returns the pending activities that the Web UI shows. */
async function pendingActivities(handle: WorkflowHandle, attempt: number) {
  return poll(
    async () => (await handle.describe()).raw.pendingActivities ?? [],
    (found) => found.some((activity) => (activity.attempt ?? 0) >= attempt),
  );
}

async function summaryOf(handle: WorkflowHandle, type: string, word: string) {
  const { events } = await handle.fetchHistory();
  return events
    ?.filter(
      ({ activityTaskScheduledEventAttributes: scheduled }) =>
        scheduled?.activityType?.name === type,
    )
    .map(({ userMetadata }) => JSON.parse(String(Buffer.from(userMetadata?.summary?.data ?? []))))
    .find((summary) => summary.includes(word));
}

test('a failed post is found by its workspace, networks and error codes, together with its deliveries', async (t) => {
  const { client, refuses, channels, schedule, subscribe, delivery } = await workspace();
  const { workspaceId } = client;
  await subscribe(204);
  refuses.fates.push({ kind: 'fails', error: error('content_refused') });
  const later = new Date(Date.now() + 3_600_000).toISOString();
  const bad = await schedule(undefined, [channels.refuses]);
  const good = await schedule(later, [channels.refuses]);
  t.is((await client.finalPost(bad)).status, 'failed');

  const find = (query: string, count = 1) =>
    visible(shared().punctual.temporal, `${query} and WorkspaceId = '${workspaceId}'`, count);
  t.deepEqual(await find(`ErrorCodes = 'content_refused'`), [`post-${bad}`]);
  const posts = [`post-${bad}`, `post-${good}`].toSorted();
  t.deepEqual(await find(`Networks = 'refuses'`, 2), posts);
  t.deepEqual(await find(`RootWorkflowId = 'post-${bad}'`, 2), [
    (await delivery()).workflowId,
    `post-${bad}`,
  ]);
});
