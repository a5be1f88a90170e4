import type { Channel } from '../../db/entities/channel.ts';
import { AppError } from '../../domain/errors.ts';
import type { ApiDeps } from '../deps.ts';
import type { CreatePostBody } from './schemas.ts';

/** The texts that a channel gets, in order. */
export const textsFor = (channelId: string, request: CreatePostBody): readonly string[] => {
  const override = request.channel_bodies?.[channelId];
  return override === undefined ? (request.thread ?? [request.body ?? '']) : [override];
};

/** What each chosen network would refuse, a sentence per fault that names the channel. Empty: all is well. */
export function contentFaults(
  networks: ApiDeps['networks'],
  channels: readonly Channel[],
  request: CreatePostBody,
): string[] {
  return channels.flatMap((channel) => {
    const texts = textsFor(channel.id, request);
    return texts.flatMap((text, index) => {
      const where = texts.length > 1 ? `part ${index + 1}` : 'the text';
      const name = `${channel.platform} channel ${channel.handle} (${channel.id})`;
      if (text === '') {
        return [`${name}: there is no text for it.`];
      }

      const fault = networks[channel.platform]?.rules.checkText(text, channel.settings);
      return fault ? [`${name}, ${where}: ${fault}`] : [];
    });
  });
}

/** @throws AppError `no_channels` or `invalid_content`: what holds a post back from being scheduled. */
export function mustBePublishable(channels: readonly Channel[], faults: readonly string[]): void {
  if (channels.length === 0) {
    throw new AppError('no_channels', 'Scheduling needs at least one channel in channel_ids.');
  }

  if (faults.length > 0) {
    throw new AppError('invalid_content', faults.join(' '), {
      details: faults.map((message) => ({ path: '', message })),
    });
  }
}

/** What a post is stored in spite of, for its `warning`; null when there is nothing to say. */
export function warningFor(channels: readonly Channel[], faults: readonly string[]): string | null {
  const lost = channels
    .filter(({ state }) => state === 'needs_reconnect')
    .map(({ platform, handle, id }) => `${platform} channel ${handle} (${id}) needs reconnecting.`);
  return [...faults, ...lost].join(' ') || null;
}
