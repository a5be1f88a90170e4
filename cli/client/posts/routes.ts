import { buildRouteMap } from '@stricli/core';
import { endedOutcomes, postStatuses } from '../../../domain/statuses.ts';
import { command } from '../../command.ts';
import { given, network, oneOf, required, someOf, text, texts, toggle } from '../../flags.ts';
import { confirm } from '../../input.ts';
import { UsageError } from '../../failures.ts';
import { beginning, localTime, ownZone } from '../../table.ts';
import { chosenChannels } from '../channels.ts';
import { apiCommand } from '../api-command.ts';
import { pages, pagingFlags } from '../pages.ts';
import { postText } from './view.ts';
import { create, edit, waitForEnd } from './write.ts';

const args = { post: 'Id of the post' };
const yes = toggle('Does not ask');

const list = command({
  brief: 'Lists posts, newest first',
  examples: [
    'post list --status scheduled --sort scheduled_at --order asc',
    'post list --outcome failed --channel mastodon',
    `post list --all --jq '.posts[].id'`,
  ],
  flags: {
    status: someOf(postStatuses, 'Only posts with this status'),
    outcome: oneOf(endedOutcomes, 'Only posts that ended so'),
    channel: text('Only posts on this account: its id, handle or network', 'CHANNEL'),
    platform: network('Only posts on this network'),
    tag: text('Only posts with this tag', 'TAG'),
    externalId: text('Only the post with this id of yours', 'ID'),
    search: text('Only posts with these words', 'WORDS'),
    from: text('Only posts due from this time on, such as 2027-03-01T09:00Z', 'TIME'),
    to: text('Only posts due before this time', 'TIME'),
    sort: oneOf(['created_at', 'scheduled_at', 'published_at'], 'Order of the list'),
    order: oneOf(['asc', 'desc'], 'Its direction'),
    ...pagingFlags,
  },
  async *run({ client: open }, { channel, externalId, search, all, ...filters }) {
    const client = await open();
    const [id] = channel === undefined ? [] : await chosenChannels(client, [channel]);
    const query = { ...filters, channel_id: id, external_id: externalId, q: search };
    const head = ['ID', 'STATUS', `TIME (${ownZone()})`, 'CHANNELS', 'TEXT'];
    for await (const answer of pages((one) => client.posts.list(one), given(query), all)) {
      const rows = answer.posts.map((post) => [
        post.id,
        post.outcome ?? post.status,
        localTime(post.published_at ?? post.scheduled_at),
        post.post_targets.map(({ platform }) => platform).join(' '),
        beginning(post.thread?.[0] ?? post.body ?? ''),
      ]);
      yield { data: answer, text: { head, rows } };
    }
  },
});

const show = apiCommand({
  brief: 'Shows a post',
  args,
  call: (client, { post: id }) => client.posts.get(id),
  show: (answer) => postText(answer.post),
});

const cancel = apiCommand({
  brief: 'Makes a scheduled post a draft',
  args,
  call: (client, { post: id }) => client.posts.cancel(id),
  show: ({ post, still_sending: still }) =>
    `${postText(post)}${still > 0 ? `\nStill being sent on ${still} channels, which finish.` : ''}`,
});

const retry = command({
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

const copy = apiCommand({
  brief: 'Copies a post as a draft',
  args,
  flags: { onlyFailed: toggle('Only for the channels that failed') },
  call: (client, { post: id, onlyFailed }) =>
    client.posts.copy(id, onlyFailed ? { only: 'failed' } : {}),
  show: ({ post }) => postText(post),
});

const remove = apiCommand({
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

const settle = apiCommand({
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

const unpublish = apiCommand({
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

export const post = buildRouteMap({
  routes: { create, list, show, edit, cancel, retry, settle, copy, unpublish, delete: remove },
  docs: { brief: 'Creates, lists and changes posts' },
});
