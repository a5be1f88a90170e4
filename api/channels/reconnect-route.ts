import { AppError } from '../../domain/errors.ts';
import { createConnectLink } from '../../accounts/connecting/create-link.ts';
import { networkName } from '../../accounts/connecting/network-name.ts';
import { accountDeps, type ApiDeps } from '../deps.ts';
import { route, type Caller, type Route } from '../http/route.ts';
import { loadChannel } from './edit-channel.ts';
import { blueskyChannel, mastodonChannel } from './examples.ts';
import { presentChannel, type ChannelView } from './present-channel.ts';
import { lostPosts, retryLostPosts } from './retry-lost-posts.ts';
import { reconnectAnswer, reconnectBody } from './schemas.ts';

const postId = '0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d';
const exampleLink = 'https://punctual.example/connect/7Fq2LkX0aZr9WcT4sYb1NvE8uHj3MdP6';
const failed_posts = { count: 1, post_ids: [postId] };

export const reconnectCall = (deps: ApiDeps): Route =>
  route({
    method: 'post',
    path: '/channels/{id}/reconnect',
    operationId: 'reconnectChannel',
    tag: 'Channels',
    summary: 'Connect a channel again, and retry the posts that failed because its access was lost',
    description:
      'Makes a link by which a person connects the account again (as `POST /channels/connect` with `channel_id` does). Names the posts that failed on the channel within the last 24 hours only because its access was lost. Once the account is connected again, `retry_posts` sends them again to this channel and to no other, the earliest first and 2 s apart, at most 100 in a call. A second call skips posts that are already being sent.',
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
            value: { channel: blueskyChannel, link: exampleLink, failed_posts, retrying: [] },
          },
          retrying: {
            summary: 'A post is sent again',
            value: { channel: mastodonChannel, link: null, failed_posts, retrying: [postId] },
          },
        },
      },
    },
    errors: ['invalid_request', 'plan_required', 'not_found', 'channel_not_connected'],
    handle: async ({ caller, params: { id = '' }, body: { retry_posts: retries = false } }) => {
      const { workspaceId } = caller;
      const em = deps.orm.em.fork();
      const now = deps.now();
      const channel = await presentChannel(deps, em, await loadChannel(em, workspaceId, id));
      if (retries) {
        assertConnected(deps, channel);
      }

      const found = await lostPosts(em, workspaceId, channel.id, now);
      const retrying = retries ? await retryLostPosts(deps, caller, channel.id, found) : [];
      const failed = { count: found.count, post_ids: [...found.postIds] };
      const link = retries ? null : await linkTo(deps, caller, channel);
      return { status: 200, body: { channel, link, failed_posts: failed, retrying } };
    },
  });

/** Returns null when this network cannot be connected in a browser here, only with tokens. */
async function linkTo(
  deps: ApiDeps,
  { workspaceId, quotas }: Caller,
  { id, platform }: ChannelView,
): Promise<string | null> {
  if (!(platform in deps.networks.oauth)) {
    return null;
  }

  try {
    const linkDeps = { ...accountDeps(deps), returnUrls: deps.returnUrls };
    const request = { platform, channelId: id, mostChannels: quotas.channels };
    return (await createConnectLink(linkDeps, workspaceId, request)).link;
  } catch (error) {
    if (error instanceof AppError && error.code === 'network_not_configured') {
      return null;
    }

    throw error;
  }
}

/** @throws AppError `channel_not_connected` */
function assertConnected({ networks }: ApiDeps, { state, platform, handle }: ChannelView): void {
  if (state === 'needs_reconnect') {
    throw new AppError(
      'channel_not_connected',
      `The account ${handle} on ${networkName(platform, networks.oauth[platform])} is not connected: connect it again, then retry its posts.`,
    );
  }
}
