import { command } from '../../command.ts';
import { UsageError } from '../../failures.ts';
import { given, required, text, texts, toggle } from '../../flags.ts';
import { confirm } from '../../input.ts';
import { chosenChannels } from '../channels.ts';
import { apiCommand } from '../api-command.ts';
import { postText } from './view.ts';
import { waitForEnd } from './write.ts';

const args = { post: 'Id of the post' };
const yes = toggle('Does not ask');

export const cancel = apiCommand({
  brief: 'Makes a scheduled post a draft',
  args,
  call: (client, { post: id }) => client.posts.cancel(id),
  show: ({ post, still_sending: still }) =>
    `${postText(post)}${still > 0 ? `\nStill being sent on ${still} channels, which finish.` : ''}`,
});

export const retry = command({
  brief: 'Sends the failed channels of a post again',
  args,
  flags: {
    wait: toggle('Waits until the post has ended; fails unless it is published everywhere'),
  },
  run: async (session, { post: id, wait }) => {
    const client = await session.client();
    const answer = await client.posts.retry(id);
    return wait
      ? waitForEnd(session, client, answer.post)
      : { data: answer, text: postText(answer.post) };
  },
});

export const copy = apiCommand({
  brief: 'Copies a post as a draft',
  args,
  flags: { onlyFailed: toggle('Only for the channels that failed') },
  call: (client, { post: id, onlyFailed }) =>
    client.posts.copy(id, onlyFailed ? { only: 'failed' } : {}),
  show: ({ post }) => postText(post),
});

export const remove = apiCommand({
  brief: 'Deletes a post here; it stays on its networks',
  args,
  flags: { yes },
  call: async (client, { post: id, yes: isSure }) => {
    await confirm(`Delete the post ${id}? It stays where it is published.`, isSure);
    return client.posts.delete(id);
  },
  show: ({ id, live }) =>
    [`Deleted ${id}.`, ...live.map((one) => `Still on ${one.platform}: ${one.url ?? '?'}`)].join(
      '\n',
    ),
});

export const settle = apiCommand({
  brief: 'Records whether the post of an unconfirmed channel is on its network',
  examples: [
    'post settle POST --channel mastodon --url https://mastodon.social/@ana/1',
    'post settle POST --channel mastodon --not-published',
  ],
  args,
  flags: {
    channel: required(text('Account: its id, handle or network', 'CHANNEL')),
    url: text('Address of the post, which is there', 'URL'),
    notPublished: toggle('The post is not there'),
  },
  call: async (client, { post: id, channel, url = null, notPublished = false }) => {
    if ((url === null) !== notPublished) {
      throw new UsageError('Give --url with the address of the post, or --not-published.');
    }

    const [channelId = ''] = await chosenChannels(client, [channel]);
    return client.posts.settle(id, { channel_id: channelId, url });
  },
  show: ({ post }) => postText(post),
});

export const unpublish = apiCommand({
  brief: 'Removes a published post from its networks',
  args,
  flags: { channel: texts('Only from this account: its id, handle or network', 'CHANNEL'), yes },
  call: async (client, { post: id, channel, yes: isSure }) => {
    await confirm(`Remove the post ${id} from its networks?`, isSure);
    const channels = channel && (await chosenChannels(client, channel));
    return client.posts.unpublish(id, given({ channel_ids: channels }));
  },
  show: ({ post }) => postText(post),
});
