import { WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { ExecutionContext } from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { ensureSearchAttributes } from '../../temporal/ensure-search-attributes.ts';
import { deliveryWorkflowId, postWorkflowId } from '../../workflows/messages.ts';
import { outcomeKey } from '../../workflows/search-attributes.ts';
import { status } from '../support/answers.ts';
import { endOf } from '../support/end-of.ts';
import { beforeTests } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork, fakeNetworksNamed } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startWorkers } from '../support/punctual.ts';
import { endedPost, fakeChannel } from '../support/seed.ts';
import { testLog } from '../support/temporal.ts';
import { untilBegun } from '../support/until-begun.ts';
import { visible } from '../support/visible.ts';
import { startWebhooks } from '../support/webhooks.ts';

// A post that needs a person is a Failed workflow: `ExecutionStatus = 'Failed'` lists it.

const test = needs('temporal');

/** A service on a Temporal with our search attributes. */
const shared = beforeTests(test, async (scope) => {
  const api = await startWebhooks(scope, { networks: fakeNetworksNamed('good', 'bad') });
  const { punctual } = api;
  await poll(() => ensureSearchAttributes(punctual.temporal, testLog), Boolean);
  await startWorkers(scope, punctual);
  return api;
});

/** A workspace with a channel on each network. */
async function workspace() {
  const { punctual, newClient } = shared();
  const client = await newClient();
  const { workspaceId } = client;
  const networks = { good: fakeNetwork(), bad: fakeNetwork() };
  const channels = {
    good: await fakeChannel(punctual, workspaceId, networks.good, 'good'),
    bad: await fakeChannel(punctual, workspaceId, networks.bad, 'bad'),
  };
  return {
    ...networks,
    channels,
    client,
    handleOf: (post: string) => punctual.temporal.client.workflow.getHandle(postWorkflowId(post)),
    /** Publishes a post to these channels. @returns its id once it has ended. */
    publish: async (...to: string[]): Promise<string> => {
      const content = { body: 'Hello', channel_ids: to, schedule_in_minutes: 0 };
      const { id } = (await client.post('/posts', content)).body.post;
      await client.finalPost(id);
      return id;
    },
    find: (query: string) =>
      visible(punctual.temporal, `${query} and WorkspaceId = '${workspaceId}'`, 1),
  };
}

const refusal = () =>
  ({
    kind: 'fails',
    error: new NetworkError('content_refused', 'These words must not be in Temporal.', {
      accepted: 'no',
    }),
  }) as const;

async function failureOf(t: ExecutionContext, handle: WorkflowHandle): Promise<ApplicationFailure> {
  const thrown = await t.throwsAsync(() => handle.result(), { instanceOf: WorkflowFailedError });
  t.true(thrown?.cause instanceof ApplicationFailure);
  return thrown?.cause as ApplicationFailure;
}

const outcomeOf = async (handle: WorkflowHandle): Promise<string | undefined> =>
  (await handle.describe()).typedSearchAttributes.get(outcomeKey);

test('a post that needs a person is a Failed workflow with channels and codes, and its retry is a run that completes', async (t) => {
  const { client, bad, channels, publish, handleOf, find } = await workspace();
  const out = await publish(channels.good);
  t.is(await handleOf(out).result(), 'published');
  bad.fates.push(refusal());
  const post = await publish(channels.good, channels.bad);
  const handle = handleOf(post);

  const failure = await failureOf(t, handle);

  t.like(failure, { type: 'post_partial', nonRetryable: true, category: 'BENIGN' });
  t.is(
    failure.message,
    `The post was published on some of its channels only. Bad @me: content_refused.`,
  );
  t.deepEqual(failure.details, [
    [
      { network: 'good', handle: '@me', channelId: channels.good, status: 'published', code: null },
      {
        network: 'bad',
        handle: '@me',
        channelId: channels.bad,
        status: 'failed',
        code: 'content_refused',
      },
    ],
  ]);
  const { events } = await handle.fetchHistory();
  const { failure: stored } = events?.at(-1)?.workflowExecutionFailedEventAttributes ?? {};
  t.is(stored?.stackTrace, '');
  t.deepEqual(await find(`ExecutionStatus = 'Failed'`), [`post-${post}`]);
  t.deepEqual(await find(`Outcome = 'partial'`), [`post-${post}`]);
  t.deepEqual(await find(`Outcome = 'published'`), [`post-${out}`]);

  await client.post(`/posts/${post}/retry`);
  await client.finalPost(post);

  t.is(await handle.result(), 'published');
  t.is(await outcomeOf(handle), 'published');
});

test('the outcome of a failed post is "failed", and of a cancelled one "cancelled"', async (t) => {
  const { client, bad, channels, publish, handleOf } = await workspace();
  bad.fates.push(refusal());
  const failed = handleOf(await publish(channels.bad));
  t.is(await endOf(failed), 'post_failed');
  t.is(await outcomeOf(failed), 'failed');

  const content = { body: 'Hello', channel_ids: [channels.good], schedule_in_minutes: 60 };
  const { id } = (await client.post('/posts', content)).body.post;
  await poll(
    () => outcomeOf(handleOf(id)).catch(() => undefined),
    (outcome) => outcome === 'pending',
  );
  await client.post(`/posts/${id}/cancel`);
  t.is(await handleOf(id).result(), 'stopped');
  t.is(await outcomeOf(handleOf(id)), 'cancelled');
});

test('an unconfirmed post is a Failed workflow, and a later run shows that it was settled', async (t) => {
  const { client, channels, handleOf } = await workspace();
  const { punctual } = shared();
  const postId = await endedPost(punctual, client, new Map([[channels.bad, 'unconfirmed']]));
  // The workflow sleeps until the post's time, which the signal moves to now.
  const handle = await untilBegun(handleOf(postId));
  await handle.signal('reschedule', { revision: 2, dueAt: new Date().toISOString() });
  t.is(await endOf(handle), 'post_unconfirmed');
  t.is(await outcomeOf(handle), 'unconfirmed');
  const { runId } = await handle.describe();

  const url = 'https://social.example/@me/1';
  const settled = await client.post(`/posts/${postId}/settle`, { channel_id: channels.bad, url });
  t.is(settled.status, 200);

  await poll(
    () => handle.describe(),
    (run) => run.runId !== runId && run.status.name === 'COMPLETED',
  );
  t.is(await handle.result(), 'published');
  t.is(await outcomeOf(handle), 'published');
});

test('a failed delivery is a Failed workflow, and its replay is a run that completes', async (t) => {
  const { punctual, subscribe } = shared();
  const { client, workspaceId, store, path } = await subscribe(status(204));
  const deliveryId = await store('failed');
  const { workflow } = punctual.temporal.client;
  const handle = workflow.getHandle(deliveryWorkflowId(deliveryId));
  await workflow.start('deliverWebhook', {
    workflowId: handle.workflowId,
    taskQueue: 'webhooks',
    args: [{ workspaceId, deliveryId }],
  });

  const failure = await failureOf(t, handle);
  t.like(failure, { type: 'delivery_failed', nonRetryable: true, category: 'BENIGN' });
  t.deepEqual(failure.details, [{ deliveryId, round: 1 }]);

  t.is((await client.post(`${path}/deliveries/${deliveryId}/replay`)).status, 202);
  await poll(
    () => endOf(handle),
    (end) => end === 'delivered',
  );
});
