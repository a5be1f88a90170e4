import test from 'ava';
import { postWorkflowId } from '../../workflows/messages.ts';
import { endOf } from '../support/end-of.ts';
import { sharedPunctual } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { accountOn, fakeNetwork, liveTexts } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { addFakeChannel, fakeChannel } from '../support/seed.ts';

const api = sharedPunctual(test);

/** The result of a post's workflow; undefined while it runs. */
async function endOfPost(postId: string): Promise<unknown> {
  const { client } = api.punctual.temporal;
  const handle = client.workflow.getHandle(postWorkflowId(postId));
  const { status } = await handle.describe();
  return status.name === 'RUNNING' ? undefined : endOf(handle);
}

needs('temporal')(
  'a scheduled post fails at its time on a disconnected account, and goes out where it was connected again',
  async (t) => {
    const client = await api.newClient();
    const [lost, back] = [fakeNetwork(), fakeNetwork()];
    const gone = await fakeChannel(api.punctual, client.workspaceId, lost);
    const account = { remoteId: accountOn(back) };
    const connect = () => addFakeChannel(api.punctual.deps, client.workspaceId, 'fake', account);
    const again = await connect();
    const at = new Date(Date.now() + 20_000).toISOString();
    const request = { body: 'x', channel_ids: [gone, again], scheduled_at: at };
    const id: string = (await client.post('/posts', request)).body.post.id;

    for (const channel of [gone, again]) {
      t.is((await client.delete(`/channels/${channel}`)).body.scheduled_posts, 1);
    }

    t.is(await connect(), again);
    const post = await client.finalPost(id);
    t.like(post, { status: 'failed', summary: { published: 1, failed: 1 } });
    t.like(post.channels[0], { status: 'failed', error_code: 'disconnected' });
    t.deepEqual([lost.sends.length, liveTexts(back)], [0, ['x']]);
    t.is(
      await poll(
        () => endOfPost(id),
        (end) => end !== undefined,
      ),
      'post_partial',
    );
  },
);
