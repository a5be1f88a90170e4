import { command } from '../../command.ts';
import { given, texts, toggle } from '../../flags.ts';
import { confirm } from '../../input.ts';
import { chosenChannels } from '../channels.ts';
import { postText } from './view.ts';
import { waitForEnd } from './write.ts';

const args = { post: 'Id of the post' };
const yes = toggle('Does not ask');

export const cancel = command({
  brief: 'Makes a scheduled post a draft',
  args,
  run: async ({ client }, { post: id }) => {
    const answer = await (await client()).posts.cancel(id);
    const still = answer.still_sending;
    const sending = still > 0 ? `\nStill being sent on ${still} channels, which finish.` : '';
    return { data: answer, text: `${postText(answer.post)}${sending}` };
  },
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

export const copy = command({
  brief: 'Copies a post as a draft',
  args,
  flags: { onlyFailed: toggle('Only for the channels that failed') },
  run: async ({ client }, { post: id, onlyFailed }) => {
    const answer = await (await client()).posts.copy(id, onlyFailed ? { only: 'failed' } : {});
    return { data: answer, text: postText(answer.post) };
  },
});

export const remove = command({
  brief: 'Deletes a post here; it stays on its networks',
  args,
  flags: { yes },
  run: async ({ client: open }, { post: id, yes: isSure }) => {
    await confirm(`Delete the post ${id}? It stays where it is published.`, isSure);
    const answer = await (await open()).posts.delete(id);
    const live = answer.live.map(({ platform, url }) => `\nStill on ${platform}: ${url ?? '?'}`);
    return { data: answer, text: `Deleted ${id}.${live.join('')}` };
  },
});

export const unpublish = command({
  brief: 'Removes a published post from its networks',
  args,
  flags: { channel: texts('Only from this account: its id, handle or network', 'CHANNEL'), yes },
  run: async ({ client: open }, { post: id, channel, yes: isSure }) => {
    await confirm(`Remove the post ${id} from its networks?`, isSure);
    const client = await open();
    const channels = channel && (await chosenChannels(client, channel));
    const answer = await client.posts.unpublish(id, given({ channel_ids: channels }));
    return { data: answer, text: postText(answer.post) };
  },
});
