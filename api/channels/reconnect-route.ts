import { AppError } from '../../domain/errors.ts';
import type { ApiDeps } from '../deps.ts';
import { route, type Route } from '../http/route.ts';
import { loadChannel } from './edit-channel.ts';
import { blueskyChannel, mastodonChannel } from './examples.ts';
import { presentChannel, type ChannelView } from './present-channel.ts';
import { lostPosts, retryLostPosts } from './retry-lost-posts.ts';
import { reconnectAnswer, reconnectBody } from './schemas.ts';

const postId = '0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d';
const failed_posts = { count: 1, post_ids: [postId] };

export const reconnectCall = (deps: ApiDeps): Route =>
  route({
    method: 'post',
    path: '/channels/{id}/reconnect',
    operationId: 'reconnectChannel',
    tag: 'Channels',
    summary: 'See which posts failed because access was lost, and send them again',
    description:
      'Names the posts that failed on the channel within the last 24 hours only because its access was lost. Once the account is connected again, `retry_posts` sends them again to this channel and to no other, the earliest first and 2 s apart, at most 100 in a call. Called twice it sends none twice: what is on its way is passed over.',
    body: reconnectBody,
    bodyExamples: {
      look: { summary: 'Which posts there are', value: {} },
      retry: { summary: 'Send them again', value: { retry_posts: true } },
    },
    answers: {
      200: {
        description: 'The channel, and its posts.',
        schema: reconnectAnswer,
        examples: {
          lost: {
            summary: 'The account is to be connected again first',
            value: { channel: blueskyChannel, failed_posts, retrying: [] },
          },
          retrying: {
            summary: 'A post is sent again',
            value: { channel: mastodonChannel, failed_posts, retrying: [postId] },
          },
        },
      },
    },
    errors: ['invalid_request', 'plan_required', 'not_found', 'channel_not_connected'],
    handle: async ({ caller, params: { id = '' }, body: { retry_posts: retries = false } }) => {
      const { workspaceId } = caller;
      const em = deps.orm.em.fork();
      const now = deps.now();
      const channel = await presentChannel(em, await loadChannel(em, workspaceId, id), now);
      if (retries) {
        assertConnected(channel);
      }

      const found = await lostPosts(em, workspaceId, channel.id, now);
      const retrying = retries ? await retryLostPosts(deps, caller, channel.id, found) : [];
      const failed = { count: found.count, post_ids: [...found.postIds] };
      return { status: 200, body: { channel, failed_posts: failed, retrying } };
    },
  });

/** @throws AppError `channel_not_connected` */
function assertConnected({ state, platform, handle }: ChannelView): void {
  if (state === 'needs_reconnect') {
    throw new AppError(
      'channel_not_connected',
      `The account ${handle} on ${platform} is not connected: connect it again, then retry its posts.`,
    );
  }
}
