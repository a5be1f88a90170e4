import { LockMode } from '@mikro-orm/core';
import { Channel } from '../../db/entities/channel.ts';
import type { Em } from '../../db/orm.ts';
import { AppError } from '../../domain/errors.ts';
import type { ApiDeps } from '../deps.ts';
import { assertOptions } from '../posts/channel-options.ts';
import { chooseMedia } from '../posts/post-media.ts';
import { assertUsable } from './assert-usable.ts';
import type { EditChannelBody } from './schemas.ts';

/** @throws AppError `not_found` */
export async function loadChannel(
  em: Em,
  workspaceId: string,
  id: string,
  lockMode = LockMode.NONE,
): Promise<Channel> {
  const channel = await em.findOne(
    Channel,
    { id, workspaceId, disconnectedAt: null },
    { lockMode },
  );
  if (!channel) {
    throw new AppError('not_found', `There is no channel "${id}".`);
  }

  return channel;
}

/**
 * Sets the channel's default options. Existing posts keep the defaults that they were validated with.
 *
 * @throws AppError `not_found`, `invalid_channel_options`, `invalid_media_ids`
 */
export async function editChannel(
  { orm, rules, now }: Pick<ApiDeps, 'orm' | 'rules' | 'now'>,
  workspaceId: string,
  id: string,
  { options }: EditChannelBody,
): Promise<Channel> {
  return orm.em.fork().transactional(async (em) => {
    const channel = await loadChannel(em, workspaceId, id, LockMode.PESSIMISTIC_WRITE);
    if (options !== undefined) {
      const files = assertOptions(rules, channel, options ?? {}, '/options');
      const found = await chooseMedia(em, workspaceId, files);
      assertUsable(rules, channel, options ?? {}, [...found.values()]);
      channel.options = options && Object.keys(options).length > 0 ? options : null;
      channel.updatedAt = now();
    }

    return channel;
  });
}
