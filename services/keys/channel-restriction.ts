import { channelNotFound } from '../../db/repositories/channels.ts';
import { reaches } from '../../domain/api-keys.ts';
import { AppError, wrongValue } from '../../domain/errors.ts';
import type { Caller } from '../context.ts';

type Holder = Pick<Caller, 'workspaceId' | 'channelIds'>;

export function assertReachesChannel(holder: Holder, channelId: string): void {
  if (!reaches(holder, channelId)) {
    throw channelNotFound(channelId);
  }
}

/** The audit log is of all channels. */
export function assertUnrestricted(holder: Pick<Holder, 'channelIds'>): void {
  if (holder.channelIds !== null) {
    const message =
      'The audit log covers all channels, and this API key is restricted to some. Use a key without channel_ids.';
    throw new AppError('channel_not_allowed', message);
  }
}

/** Figures over all channels are not for a restricted key. */
export function assertOneChannel(holder: Holder, channelId: string | undefined): void {
  if (holder.channelIds !== null && (channelId === undefined || !reaches(holder, channelId))) {
    throw wrongValue('?channel_id', 'must be one of the channel_ids of this API key');
  }
}
