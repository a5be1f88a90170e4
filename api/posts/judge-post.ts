import type { Channel } from '../../db/entities/channel.ts';
import { AppError } from '../../domain/errors.ts';
import { textsForChannel } from '../../domain/texts.ts';
import type { MediaFacts, Rules, ValidationResult } from '../../networks/content-rules.ts';
import type { PostContent } from './post-content.ts';

/** What a post's channel is judged by. */
export type ChosenChannel = Pick<Channel, 'id' | 'platform' | 'handle' | 'state' | 'settings'>;

/** What a channel's network says of a post. */
export type Judgement = ValidationResult & { readonly channel: ChosenChannel };

/** Asks each channel's network what it thinks of the post. Sends nothing. */
export function judgePost(
  rules: Readonly<Record<string, Rules>>,
  channels: readonly ChosenChannel[],
  content: PostContent,
  media: readonly MediaFacts[],
): Judgement[] {
  // Channels that have the same network, settings and text are judged once: a hundred may share a long one.
  const judged = new Map<string, ValidationResult>();
  return channels.map((channel) => {
    const network = rules[channel.platform];
    if (!network) {
      const error = `This version knows no network "${channel.platform}".`;
      return { channel, errors: [error], warnings: [], texts: [] };
    }

    const override = content.overrides[channel.id] ?? null;
    const texts = textsForChannel(content, override, network.threads);
    const alike = JSON.stringify([channel.platform, channel.settings, override]);
    const verdict =
      judged.get(alike) ??
      network.validate({ texts, media, video: content.video }, channel.settings);
    judged.set(alike, verdict);
    const isJoined = override === null && texts.length < (content.thread?.length ?? 0);
    return isJoined
      ? { ...verdict, channel, warnings: [joined, ...verdict.warnings] }
      : { ...verdict, channel };
  });
}

const joined =
  'This network has no threads: the texts go out as one post, with a blank line between them.';

/** @throws AppError `no_channels` or `invalid_content`: what holds a post back from being scheduled. */
export function mustBePublishable(judgements: readonly Judgement[]): void {
  if (judgements.length === 0) {
    throw new AppError(
      'no_channels',
      'Scheduling needs at least one channel in channel_ids to send to.',
    );
  }

  const faults = faultsOf(judgements);
  if (faults.length > 0) {
    throw new AppError('invalid_content', faults.join(' '), {
      details: faults.map((message) => ({ path: '', message })),
    });
  }
}

/** What a post is stored in spite of, for its `warning`; null when there is nothing to say. */
export function warningFor(judgements: readonly Judgement[]): string | null {
  const lost = judgements
    .filter(({ channel }) => channel.state === 'needs_reconnect')
    .map(({ channel }) => `${nameOf(channel)} needs reconnecting.`);
  return [...faultsOf(judgements), ...lost].join(' ') || null;
}

/** For the channel's own `warning`. */
export const channelWarning = ({ warnings }: Judgement): string | null =>
  warnings.join(' ') || null;

const faultsOf = (judgements: readonly Judgement[]): string[] =>
  judgements.flatMap(({ channel, errors }) =>
    errors.map((error) => `${nameOf(channel)}: ${error}`),
  );

const nameOf = ({ platform, handle, id }: ChosenChannel): string =>
  `${platform} channel ${handle} (${id})`;
