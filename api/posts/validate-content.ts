import { AppError, type ErrorDetail } from '../../domain/errors.ts';
import { filesOfParts } from '../../domain/files-of-parts.ts';
import { textsForChannel } from '../../domain/texts.ts';
import {
  filesInOptions,
  optionsFor,
  type Rules,
  type ValidationResult,
} from '../../networks/content-rules.ts';
import { nameOfChannel, type ChosenChannel } from './choose-channels.ts';
import { describeFaults } from './describe-faults.ts';
import type { PostContent } from './post-content.ts';
import type { FileToValidate } from './post-media.ts';
import type { ContentFault } from './schemas.ts';

/** What a channel's network says of a post. */
export type ChannelValidation = ValidationResult & {
  readonly channel: ChosenChannel;
  /** Its errors and warnings as the API shows them. */
  readonly describe: (sentences: readonly string[]) => ContentFault[];
};

/** Validates a post by the rules of each channel's network. Sends nothing. */
export function validateContent(
  rules: Readonly<Record<string, Rules>>,
  channels: readonly ChosenChannel[],
  content: PostContent,
  files: readonly FileToValidate[],
): ChannelValidation[] {
  const ofParts = files.filter(({ part }) => part >= 0);
  // Channels that have the same network, settings and text are validated once: a hundred may share a long one.
  const known = new Map<string, ValidationResult>();
  return channels.map((channel) => {
    const network = rules[channel.platform];
    if (!network) {
      const error = `This version knows no network "${channel.platform}".`;
      const describe = describer(channel, content, {});
      return { channel, errors: [error], warnings: [], texts: [], describe };
    }

    const override = content.overrides[channel.id] ?? null;
    const texts = textsForChannel(content, override, network.threads);
    const { video } = content;
    const own = content.options[channel.id];
    const options = optionsFor(network, { defaults: channel.options, video, own });
    const alike = JSON.stringify([channel.platform, channel.settings, override, options]);
    const result =
      known.get(alike) ??
      network.validate(
        {
          texts,
          media: filesOfParts(ofParts, texts.length),
          video,
          options,
          optionFiles: filesInOptions(network.options, options, files),
        },
        channel.settings,
      );
    known.set(alike, result);
    const describe = describer(channel, content, result, network.threads);
    const isJoined = override === null && texts.length < (content.thread?.length ?? 0);
    return isJoined
      ? { ...result, channel, describe, warnings: [joined, ...result.warnings] }
      : { ...result, channel, describe };
  });
}

export const describer =
  (
    { id: channelId }: Pick<ChosenChannel, 'id'>,
    content: PostContent,
    result: Pick<ValidationResult, 'facts'>,
    threads = true,
  ) =>
  (sentences: readonly string[]): ContentFault[] =>
    describeFaults(sentences, result, { channelId, content, threads });

const joined =
  'This network has no threads: the texts go out as one post, with a blank line between them.';

/** @throws AppError `no_channels` or `invalid_content`: what holds a post back from being scheduled. */
export function assertPublishable(validations: readonly ChannelValidation[]): void {
  if (validations.length === 0) {
    throw new AppError(
      'no_channels',
      'Scheduling needs at least one channel in channel_ids to send to.',
    );
  }

  const faults = faultsOf(validations);
  if (faults.length > 0) {
    throw new AppError('invalid_content', faults.join(' '), {
      details: validations.flatMap(detailsOf),
    });
  }
}

const detailsOf = ({ channel, errors, describe }: ChannelValidation): ErrorDetail[] =>
  describe(errors).map(({ message, path, rule, limit, actual }) =>
    Object.assign(
      { path, message: `${nameOfChannel(channel)}: ${message}`, channel_id: channel.id, rule },
      limit === null ? {} : { limit },
      actual === null ? {} : { actual },
    ),
  );

/**
 * The problems with which a post is stored all the same, for its `warning`; null when there are none.
 *
 * @param notes Other warnings, which come first.
 */
export function warningFor(
  validations: readonly ChannelValidation[],
  ...notes: readonly (string | null)[]
): string | null {
  const lost = validations
    .filter(({ channel }) => channel.state === 'needs_reconnect')
    .map(({ channel }) => `${nameOfChannel(channel)} needs reconnecting.`);
  return [...notes, ...faultsOf(validations), ...lost].filter(Boolean).join(' ') || null;
}

/** For the channel's own `warning`. */
export const channelWarning = ({ warnings }: ChannelValidation): string | null =>
  warnings.join(' ') || null;

const faultsOf = (validations: readonly ChannelValidation[]): string[] =>
  validations.flatMap(({ channel, errors }) =>
    errors.map((error) => `${nameOfChannel(channel)}: ${error}`),
  );
