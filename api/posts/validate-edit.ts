import type { PostChannel } from '../../db/entities/post-channel.ts';
import { outParts, type OutPart } from '../../db/ledger/live-parts.ts';
import type { Em } from '../../db/orm.ts';
import { AppError } from '../../domain/errors.ts';
import { textsForChannel } from '../../domain/texts.ts';
import type { MediaFacts, RulesByPlatform } from '../../networks/content-rules.ts';
import type { EditedChannels } from './edit-channels.ts';
import type { PostContent } from './post-content.ts';
import { assertPublishable, validateContent, type ChannelValidation } from './validate-content.ts';

/**
 * What the networks say of an edited post, and where its texts may not change any more.
 *
 * @throws AppError `no_channels` or `invalid_content` when it is to be scheduled and cannot be.
 */
export async function validateEdit(
  em: Em,
  rules: RulesByPlatform,
  { open, sending, kept }: EditedChannels,
  content: PostContent,
  files: readonly MediaFacts[],
  isScheduled: boolean,
): Promise<ChannelValidation[]> {
  const validated = validateContent(rules, open, content, files);
  const validations = await addChangedParts(em, rules, kept, content, validated);
  if (isScheduled && open.length + sending.length === 0 && kept.size > 0) {
    throw new AppError(
      'no_channels',
      'Every channel of the post has it, or may have it: there is none left to send it to. An unconfirmed channel can be settled, and a new post be made for all.',
    );
  }

  if (isScheduled) {
    const asTheyAre = sending.map((channel) => ({ channel, errors: [], warnings: [], texts: [] }));
    const inFlight = await addChangedParts(em, rules, kept, content, asTheyAre);
    assertPublishable([...validations, ...inFlight]);
  }

  return validations;
}

/**
 * Adds an error where part of a thread is live already, and the edited post says something else there. That
 * part cannot be unsaid, and is not sent again, so the new text for it would never go out. The same holds for a part
 * that is being sent: when it lands, the rest of another thread would go below it.
 *
 * @param kept The post's channels before the edit that stay, by channel id.
 */
async function addChangedParts(
  em: Em,
  rules: RulesByPlatform,
  kept: ReadonlyMap<string, PostChannel>,
  content: PostContent,
  validations: readonly ChannelValidation[],
): Promise<ChannelValidation[]> {
  const rows = validations.flatMap(({ channel }) => kept.get(channel.id) ?? []);
  const ids = rows.map(({ id }) => id);
  const live = await outParts(em, rows[0]?.workspaceId ?? '', ids);
  return validations.map((validation) => {
    const { id, platform } = validation.channel;
    const threads = rules[platform]?.threads ?? true;
    const texts = textsForChannel(content, content.overrides[id] ?? null, threads);
    const faults = live
      .filter((part) => part.channel_id === id && part.text !== texts[part.part])
      // A single post is a whole: where it lands nothing is missing, and where it does not the new text goes out.
      .filter(({ is_open: isOpen, parts }) => !isOpen || texts.length > 1 || parts > 1)
      .map(textIsFixed);
    return { ...validation, errors: [...validation.errors, ...faults] };
  });
}

const textIsFixed = ({ part, url, is_open: isOpen }: OutPart): string =>
  isOpen
    ? `Part ${part + 1} of the thread is being sent, so its text must stay as it is until that is over.`
    : `Part ${part + 1} of the thread is live (${url}), so its text must stay as it is.`;
