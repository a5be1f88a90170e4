import type { WorkflowHandle } from '@temporalio/client';
import type { ExecutionContext } from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { newClient } from '../support/client.ts';
import { currentDetails } from '../support/current-details.ts';
import { addFakeChannel } from '../support/seed.ts';
import { fakeNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startPunctual } from '../support/punctual.ts';
import { startReceiver } from '../support/receiver.ts';
import { untilBegun } from '../support/until-begun.ts';

const test = needs('temporal');

test('of a post that waits for its time a person sees until when, and whose it is', async (t) => {
  const { client, schedule, handleOf } = await world(t);
  const dueAt = new Date(Date.now() + 3_600_000).toISOString();
  const post = await schedule(dueAt);
  const handle = await untilBegun(handleOf(post), 5);

  const details = await currentDetails(handle);
  for (const word of [dueAt, 'revision 1', client.workspaceId, `/api/v1/posts/${post}`]) {
    t.true(details.includes(word), details);
  }

  const later = new Date(Date.now() + 7_200_000).toISOString();
  await client.patch(`/posts/${post}`, { scheduled_at: later });
  await poll(
    () => currentDetails(handle),
    (shown) => shown.includes(later) && shown.includes('revision 2'),
  );
  await client.post(`/posts/${post}/cancel`);
  await handle.result();
  t.regex(await currentDetails(handle), /is a draft/v);
});

test('of a post on its way a person sees which channel is at what, why, and when the next try is', async (t) => {
  const { busy, refuses, channels, schedule, handleOf } = await world(t);
  busy.fates.push({ kind: 'fails', error: error('network_unavailable') });
  refuses.fates.push({ kind: 'fails', error: error('content_refused') });
  const handle = handleOf(await schedule());

  const details = await poll(
    () => currentDetails(handle).catch(() => ''),
    (shown) => shown.includes('content_refused') && shown.includes('**published**'),
  );

  t.true(details.includes(`- good, channel \`${channels.good}\`: **published**\n`), details);
  t.true(details.includes(`- busy, channel \`${channels.busy}\`: **under way**\n`), details);
  const failed = `- refuses, channel \`${channels.refuses}\`: **failed**, \`content_refused\`\n`;
  t.true(details.includes(failed), details);
  const [pending] = await pendingActivities(handle, 2);
  t.is(pending?.attempt, 2);
  const when = /^network_unavailable; the next try is at (?<at>\S+Z)$/v;
  const at = when.exec(pending?.lastFailure?.message ?? '')?.groups?.['at'] ?? '';
  const inMs = Date.parse(at) - Date.now();
  t.true(inMs > 0 && inMs < 31_000, `${at} is in ${inMs} ms`);
  t.is(pending?.activityType?.name, 'publishChannel');
  t.is(await summaryOf(handle, 'publishChannel', 'busy'), `busy channel ${channels.busy}`);
});

test('of a post that failed a person sees where and why, and of its webhook what it waits for', async (t) => {
  const { punctual, refuses, channels, schedule, handleOf } = await world(t, true);
  refuses.fates.push({ kind: 'fails', error: error('content_refused') });
  const handle = handleOf(await schedule());
  t.is(await poll(() => handle.result().catch(() => ''), Boolean), 'failed');

  const details = await currentDetails(handle);
  t.true(details.startsWith('The post is **failed**. Webhooks to deliver: 1.\n'), details);
  const failed = `- refuses, channel \`${channels.refuses}\`: **failed**, \`content_refused\`\n`;
  t.true(details.includes(failed), details);
  t.true(details.includes(`- good, channel \`${channels.good}\`: **published**\n`), details);

  const [row] = await punctual.orm.em.execute<{ id: string }[]>('select id from deliveries');
  const delivery = punctual.temporal.client.workflow.getHandle(`delivery-${row?.id}`);
  const [attempt] = await pendingActivities(delivery, 2);
  t.regex(
    attempt?.lastFailure?.message ?? '',
    /^Attempt 1: http_error \(500\); the next one is at \S+Z$/v,
  );
  t.regex(await currentDetails(delivery), /Being delivered \(round 1\)/v);
});

const error = (code: NetworkError['code']): NetworkError =>
  new NetworkError(code, 'These words must not be in Temporal.', { taken: 'no' });

/** What the Web UI shows as pending activities, once one of them is at its nth attempt. */
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

/** @param hooked Whether a receiver that never answers well hears of what fails. */
async function world(t: ExecutionContext, hooked = false) {
  const networks = { good: fakeNetwork(), busy: fakeNetwork(), refuses: fakeNetwork() };
  const receiver = await startReceiver(t, () => 500);
  const punctual = await startPunctual(t, { networks, allowPorts: [receiver.port] });
  const client = await newClient(punctual);
  if (hooked) {
    const events = ['post.failed', 'post.partial'];
    await client.post('/webhooks', { url: receiver.url, events });
  }

  const add = (name: string): Promise<string> =>
    addFakeChannel(punctual.deps, client.workspaceId, name);
  const channels = {
    good: await add('good'),
    busy: await add('busy'),
    refuses: await add('refuses'),
  };
  return {
    punctual,
    ...networks,
    channels,
    client,
    schedule: async (at?: string): Promise<string> => {
      const time = at ? { scheduled_at: at } : { schedule_in_minutes: 0 };
      const { body } = await client.post('/posts', {
        body: 'This text must not be in Temporal',
        channel_ids: Object.values(channels),
        ...time,
      });
      return body.post.id;
    },
    handleOf: (post: string) => punctual.temporal.client.workflow.getHandle(`post-${post}`),
  };
}
