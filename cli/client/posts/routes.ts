import { buildRouteMap } from '@stricli/core';
import { endedOutcomes, postStatuses } from '../../../domain/statuses.ts';
import { command } from '../../command.ts';
import { given, network, oneOf, someOf, text } from '../../flags.ts';
import { beginning, localTime, ownZone } from '../../table.ts';
import { chosenChannels } from '../channels.ts';
import { apiCommand } from '../api-command.ts';
import { pages, pagingFlags } from '../pages.ts';
import { postText } from './view.ts';
import { cancel, copy, remove, retry, settle, unpublish } from './lifecycle.ts';
import { create, edit } from './write.ts';

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
  args: { post: 'Id of the post' },
  call: (client, { post: id }) => client.posts.get(id),
  show: (answer) => postText(answer.post),
});

export const post = buildRouteMap({
  routes: { create, list, show, edit, cancel, retry, settle, copy, unpublish, delete: remove },
  docs: { brief: 'Creates, lists and changes posts' },
});
