import { AppError } from '../../domain/errors.ts';
import {
  filesInOptions,
  type MediaFacts,
  type Options,
  type RulesByPlatform,
} from '../../networks/content-rules.ts';
import { nameOfChannel, type ChosenChannel } from '../posts/choose-channels.ts';

/** As short as a text can be: whatever a network has against it with defaults, it has by them. */
const shortestText = 'a';

/**
 * Refuses defaults that a network has something against whatever the post is: what its rules say of the shortest post
 * with them, and not of the same post without.
 *
 * @param files Those that the defaults name.
 * @throws AppError `invalid_channel_options`
 */
export function assertUsable(
  rules: RulesByPlatform,
  channel: Pick<ChosenChannel, 'id' | 'platform' | 'handle' | 'settings'>,
  options: Options,
  files: readonly (MediaFacts & { readonly id: string })[],
): void {
  const network = rules[channel.platform];
  if (!network) {
    return;
  }

  const errorsWith = (chosen: Options): readonly string[] => {
    const optionFiles = filesInOptions(network.options, chosen, files);
    const post = { texts: [shortestText], media: [[]], video: null, options: chosen, optionFiles };
    return network.validate(post, channel.settings).errors;
  };
  const inAnyCase = new Set(errorsWith({}));
  const faults = errorsWith(options).filter((error) => !inAnyCase.has(error));
  if (faults.length > 0) {
    throw new AppError(
      'invalid_channel_options',
      `${nameOfChannel(channel)}: ${faults.join(' ')}`,
      {
        details: faults.map((message) => ({ path: '/options', message })),
      },
    );
  }
}
