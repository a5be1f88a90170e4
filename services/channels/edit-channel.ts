import { recordAudit, type Actor } from '../../db/audit.ts';
import { lockChannel } from '../../db/repositories/channels.ts';
import { AppError } from '../../domain/errors.ts';
import {
  filesInOptions,
  type AttachmentFacts,
  type Options,
  type RulesByPlatform,
} from '../../networks/content-rules.ts';
import type { ServiceDeps } from '../deps.ts';
import { assertOptions } from '../posts/channel-options.ts';
import { nameOfChannel, type ChosenChannel } from '../posts/choose-channels.ts';
import { chooseMedia } from '../posts/post-media.ts';
import { withAccess, type FoundChannel } from './read-channels.ts';

type ChannelEdit = {
  /** Replaces all defaults of its posts; null clears them. */
  readonly options?: Options | null;
};

/** Sets the channel's default options. Existing posts keep the defaults that they were validated with. */
export async function editChannel(
  { orm, rules, now }: Pick<ServiceDeps, 'orm' | 'rules' | 'now'>,
  actor: Actor,
  id: string,
  { options }: ChannelEdit,
): Promise<FoundChannel> {
  const { workspaceId } = actor;
  const edited = await orm.em.fork().transactional(async (em) => {
    const channel = await lockChannel(em, { workspaceId, channelId: id });
    if (options !== undefined) {
      const files = assertOptions(rules, channel, options ?? {}, '/options');
      const found = await chooseMedia(em, workspaceId, files);
      assertUsable(rules, channel, options ?? {}, [...found.values()]);
      channel.options = options && Object.keys(options).length > 0 ? options : null;
      channel.updatedAt = now();
      await recordAudit(em, actor, 'channel.edited', id);
    }

    return channel;
  });
  return withAccess(orm.em.fork(), edited);
}

/** A network that refuses the options with the shortest text refuses them with every text. */
const shortestText = 'a';

/** Refuses default options that a network rejects for any post, such as the shortest one. */
function assertUsable(
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
        details: faults.map((message) => ({ path: '/options', message, channel_id: channel.id })),
      },
    );
  }
}
