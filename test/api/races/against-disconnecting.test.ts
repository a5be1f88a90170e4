import test from 'ava';
import { claimPost } from '../../../activities/claim-post.ts';
import { publishChannel } from '../../../activities/publish-channel/publish-channel.ts';
import { attempt } from '../../support/attempt.ts';
import { sharedApi } from '../../support/kit.ts';
import { fakeNetwork } from '../../support/networks.ts';
import { fakeChannel } from '../../support/seed.ts';
import { CloseFinish, inRounds } from './race.ts';

// Each round disconnects an account and connects it again for the next one.

const api = sharedApi(test);

test('after a disconnect only the sends that it reported are published', async (t) => {
  const network = fakeNetwork();
  const finish = new CloseFinish();
  const prepare = async () => {
    const client = await api.newClient();
    return { client, connect: () => fakeChannel(api.punctual, client.workspaceId, network) };
  };
  const told = new Set<number>();
  await inRounds(t, prepare, async ({ client, connect }) => {
    const { workspaceId } = client;
    const channel = await connect();
    const request = { body: 'x', channel_ids: [channel], schedule_in_minutes: 0 };
    const postId: string = (await client.post('/posts', request)).body.post.id;
    const { deps } = api.punctual;
    const isOut = (): boolean => network.live.some(({ key }) => key.startsWith(id));
    const rows = await deps.orm.em
      .fork()
      .execute<{ id: string }[]>('select id from post_channels where post_id = ?', [postId]);
    const id = rows[0]?.id ?? '';
    let wasOut = false;

    const [removed, outcome] = await finish.run(
      async () => {
        const reply = await client.delete(`/channels/${channel}`);
        wasOut = isOut();
        return reply;
      },
      async () => {
        await claimPost(deps, { workspaceId, postId, nowMs: Date.now(), revision: 1 });
        const attemptOnce = () =>
          attempt(publishChannel, deps, { workspaceId, postId, postChannelId: id });
        // Temporal repeats an attempt that lost its race.
        return attemptOnce().catch(() => attemptOnce());
      },
    );

    t.is(removed.status, 200, JSON.stringify(removed.body));
    const sending: number = removed.body.still_sending;
    told.add(sending);
    t.true(!isOut() || wasOut || sending === 1, 'later sends were reported');
    const { channels } = (await client.get(`/posts/${postId}`)).body.post;
    const expected = isOut() ? 'published' : undefined;
    t.is(
      channels[0]?.status === 'published' ? 'published' : undefined,
      expected,
      JSON.stringify([channels, outcome]),
    );
    finish.finished(isOut() ? 'second' : 'first');
  });
  t.log(`still_sending was ${[...told].toSorted().join(', ')}`);
  finish.mustHaveMet(t, 'the disconnection', 'publishing');
});
