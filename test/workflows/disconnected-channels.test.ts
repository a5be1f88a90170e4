import test from 'ava';
import { postWorkflowId } from '../../workflows/messages.ts';
import { endOf } from '../support/end-of.ts';
import { sharedPunctual } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { fails, fakeNetwork, heldNetwork, liveTexts } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { fakeChannel } from '../support/seed.ts';
import { runOf } from '../temporal/started-with.ts';

// Workflows learn of a disconnect through the outbox only.

const api = sharedPunctual(test);

/** The result of a post's workflow; undefined while it runs. */
async function endOfPost(postId: string): Promise<unknown> {
  const { client } = api.punctual.temporal;
  const handle = client.workflow.getHandle(postWorkflowId(postId));
  const { status } = await handle.describe();
  return status.name === 'RUNNING' ? undefined : endOf(handle);
}

needs('temporal')(
  'the workflow of a scheduled post that lost its only channel ends without a send',
  async (t) => {
    const client = await api.newClient();
    const network = fakeNetwork();
    const channel = await fakeChannel(api.punctual, client.workspaceId, network);
    const request = { body: 'x', channel_ids: [channel], schedule_in_minutes: 60 };
    const id: string = (await client.post('/posts', request)).body.post.id;
    // The API responds before Temporal has the workflow, and a post that loses its channel before that needs none.
    await poll(() => runOf(api.punctual, id), Boolean);

    const { body } = await client.delete(`/channels/${channel}`);

    t.deepEqual(body.became_drafts.post_ids, [id]);
    t.is(
      await poll(
        () => endOfPost(id),
        (end) => end !== undefined,
      ),
      'canceled',
    );
    t.deepEqual(network.sends, []);
  },
);

needs('temporal')(
  'a post that waits for its next attempt ends as soon as its account is disconnected',
  async (t) => {
    const client = await api.newClient();
    const network = fakeNetwork();
    network.fates.push(fails('rate_limited', { retryAtMs: Date.now() + 3_600_000 }));
    const [gone, stays] = [
      await fakeChannel(api.punctual, client.workspaceId, network),
      await fakeChannel(api.punctual, client.workspaceId, fakeNetwork()),
    ];
    const request = { body: 'x', channel_ids: [gone, stays], schedule_in_minutes: 0 };
    const id: string = (await client.post('/posts', request)).body.post.id;
    await poll(
      async () => (await client.get(`/posts/${id}`)).body.post.channels,
      ([first, second]) => first.status === 'retrying' && second.status === 'published',
    );

    t.is((await client.delete(`/channels/${gone}`)).body.still_sending, 0);

    const post = await client.finalPost(id);
    t.like(post, { status: 'failed', summary: { published: 1, failed: 1 } });
    t.like(post.channels[0], { status: 'failed', error_code: 'disconnected' });
    t.deepEqual(liveTexts(network), []);
    t.is(
      await poll(
        () => endOfPost(id),
        (end) => end !== undefined,
      ),
      'post_partial',
    );
  },
);

needs('temporal')(
  'a post that is being sent during a disconnect is published, and counted in `still_sending`',
  async (t) => {
    const client = await api.newClient();
    const network = heldNetwork();
    const channel = await fakeChannel(api.punctual, client.workspaceId, network);
    const request = { body: 'x', channel_ids: [channel], schedule_in_minutes: 0 };
    const id: string = (await client.post('/posts', request)).body.post.id;
    await network.held();

    const { body } = await client.delete(`/channels/${channel}`);
    t.like(body, { removed_from: 0, still_sending: 1 });
    network.release();

    t.like(await client.finalPost(id), { status: 'published' });
    t.deepEqual(liveTexts(network), ['x']);
    t.is(
      await poll(
        () => endOfPost(id),
        (end) => end !== undefined,
      ),
      'published',
    );
  },
);
