import type { Channel } from '../../db/entities/channels.ts';
import type { Em } from '../../db/orm.ts';
import { findAccounts, type PostOnChannel } from '../../db/repositories/posts.ts';
import { AppError, channelDetail, noChannelHas, pointerToken } from '../../domain/errors.ts';
import { isId } from '../../domain/json-schema.ts';
import type { PostInput } from './post-request.ts';

export type ChosenChannel = Awaited<ReturnType<typeof findAccounts>>[number];

/**
 * Returns the workspace's channels with these ids, in this order, without duplicates.
 *
 * @param kept Ids of channels that may be disconnected, because the post has them already.
 * @param at The place of an id in the request.
 */
export async function chooseChannels(
  em: Em,
  workspaceId: string,
  given: readonly string[],
  kept: readonly string[] = [],
  at: (id: string) => string = (id) => `/channel_ids/${given.indexOf(id)}`,
): Promise<ChosenChannel[]> {
  const ids = [...new Set(given)];
  const wellFormed = ids.filter(isId);
  const found = wellFormed.length > 0 ? await findAccounts(em, workspaceId, wellFormed, kept) : [];
  const byId = new Map(found.map((channel) => [channel.id, channel]));
  const unknown = ids.filter((id) => !byId.has(id));
  if (unknown.length > 0) {
    const again = unknown.some(isId)
      ? ' A disconnected account gets its id back when it is connected again: POST /channels/connect.'
      : '';
    const details = unknown.map((id) => channelDetail(at(id), noChannelHas(id), id));
    const message = `${noChannelHas(unknown.join(', '))} GET /channels lists the ids.${again}`;
    throw new AppError('invalid_channel_ids', message, { details });
  }

  return ids.flatMap((id) => byId.get(id) ?? []);
}

export function assertChosen(ids: readonly string[], input: PostInput): void {
  const chosen = new Set(ids);
  for (const field of ['channel_bodies', 'channel_options', 'channel_media'] as const) {
    const stray = Object.keys(input[field] ?? {}).filter((id) => !chosen.has(id));
    if (stray.length > 0) {
      const message = (id: string) =>
        `${field} names ${id}, which is not among the post's channels.`;
      const at = (id: string) => `/${field}/${pointerToken(id)}`;
      const details = stray.map((id) => channelDetail(at(id), message(id), id));
      const all = `${message(stray.join(', '))} Its keys are ids of channel_ids.`;
      throw new AppError('invalid_channel_ids', all, { details });
    }
  }
}

export const nameOfChannel = ({
  platform,
  handle,
  id,
}: Pick<Channel, 'platform' | 'handle' | 'id'>): string => `${platform} channel ${handle} (${id})`;

export const namesOfChannels = (channels: readonly Pick<PostOnChannel, 'account'>[]): string =>
  channels.map(({ account }) => nameOfChannel(account)).join(', ');

/** The next step for channels whose outcome only a person can find out. */
export const settleFirst = (
  postId: string,
  unconfirmed: readonly Pick<PostOnChannel, 'account'>[],
): string =>
  `Unconfirmed: ${namesOfChannels(unconfirmed)}. The network may have the post. Look at the account, and settle the channel first (POST /posts/${postId}/settle).`;
