import { AppError } from '../../domain/errors.ts';
import {
  filesInOptions,
  type AttachmentFacts,
  type Options,
  type RulesByPlatform,
} from '../../networks/content-rules.ts';
import { nameOfChannel, type ChosenChannel } from '../posts/choose-channels.ts';

/** A network that refuses the options with the shortest text refuses them with every text. */
const shortestText = 'a';

/**
 * Refuses default options that a network rejects for any post: the errors of the shortest post with the options, minus
 * those of the same post without them.
 *
 * @param files The files that the options name.
 * @throws AppError `invalid_channel_options`
 */
export function assertUsable(
  rules: RulesByPlatform,
  channel: Pick<ChosenChannel, 'id' | 'platform' | 'handle' | 'settings'>,
  options: Options,
  files: readonly (AttachmentFacts & { readonly id: string })[],
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
