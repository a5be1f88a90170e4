import type { PostChannel } from '../../db/entities/post-channel.ts';
import { outParts, type OutPart } from '../../db/ledger/live-parts.ts';
import type { Em } from '../../db/orm.ts';
import { AppError } from '../../domain/errors.ts';
import { textsForChannel, withComment } from '../../domain/texts.ts';
import type { Options, RulesByPlatform } from '../../networks/content-rules.ts';
import { nameOfChannel, type ChosenChannel } from './choose-channels.ts';
import type { EditedChannels } from './edit-channels.ts';
import type { EditedMedia } from './edit-media.ts';
import type { PostContent } from './post-content.ts';
import {
  assertPublishable,
  describer,
  validateContent,
  type ChannelValidation,
} from './validate-content.ts';

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
  media: Pick<EditedMedia, 'files' | 'changedParts'>,
  isScheduled: boolean,
): Promise<ChannelValidation[]> {
  const edited = { rules, kept, content, changedParts: media.changedParts };
  await assertLiveFiles(em, edited, [...open, ...sending]);
  const validated = validateContent(rules, open, content, media.files);
  const validations = await addChangedParts(em, edited, validated);
  if (isScheduled && open.length + sending.length === 0 && kept.size > 0) {
    throw new AppError(
      'no_channels',
      'Every channel of the post has it, or may have it: there is none left to send it to. An unconfirmed channel can be settled, and a new post be made for all.',
    );
  }

  if (isScheduled) {
    const asTheyAre = sending.map((channel) => {
      const describe = describer(channel, content, {});
      return { channel, errors: [], warnings: [], texts: [], describe };
    });
    const inFlight = await addChangedParts(em, edited, asTheyAre);
    assertPublishable([...validations, ...inFlight]);
  }

  return validations;
}

type Edited = {
  readonly rules: RulesByPlatform;
  /** The post's channels before the edit that stay, by channel id. */
  readonly kept: ReadonlyMap<string, PostChannel>;
  readonly content: PostContent;
} & Pick<EditedMedia, 'changedParts'>;

/**
 * Adds an error where part of a thread is live already, and the edited post says something else there. That
 * part cannot be unsaid, and is not sent again, so the new text for it would never go out. The same holds for a part
 * that is being sent: when it lands, the rest of another thread would go below it.
 */
async function addChangedParts(
  em: Em,
  { rules, kept, content }: Edited,
  validations: readonly ChannelValidation[],
): Promise<ChannelValidation[]> {
  const rows = validations.flatMap(({ channel }) => kept.get(channel.id) ?? []);
  const ids = rows.map(({ id }) => id);
  const live = await outParts(em, rows[0]?.workspaceId ?? '', ids);
  return validations.map((validation) => {
    const { id, platform } = validation.channel;
    const { threads = true, comments = false } = rules[platform] ?? {};
    const own = textsForChannel(content, content.overrides[id] ?? null, threads);
    const options: Options = { ...validation.channel.options, ...content.options[id] };
    const texts = withComment(own, options, comments);
    const faults = live
      .filter((part) => part.channel_id === id)
      // A single post is a whole: where it lands nothing is missing, and where it does not the new text goes out.
      .filter(({ is_open: isOpen, parts }) => !isOpen || texts.length > 1 || parts > 1)
      .filter((part) => part.text !== texts[part.part])
      .map((part) => isFixed(part, 'text'));
    return { ...validation, errors: [...validation.errors, ...faults] };
  });
}

/**
 * Refuses other files for a part that is live, or may be, also for a draft: the ledger has the texts that went out, and
 * not the files, so that no later edit could tell.
 *
 * @throws AppError `invalid_content`
 */
async function assertLiveFiles(
  em: Em,
  { rules, kept, changedParts }: Edited,
  channels: readonly ChosenChannel[],
): Promise<void> {
  const rows = changedParts.size > 0 ? channels.flatMap(({ id }) => kept.get(id) ?? []) : [];
  const ids = rows.map(({ id }) => id);
  const live = await outParts(em, rows[0]?.workspaceId ?? '', ids);
  const faults = channels.flatMap((channel) => {
    const threads = rules[channel.platform]?.threads ?? true;
    // Without threads the post has the files of all parts, and a comment below it none.
    const isChanged = (part: number): boolean => (threads ? changedParts.has(part) : part === 0);
    return live
      .filter((part) => part.channel_id === channel.id && isChanged(part.part))
      .filter(({ is_open: isOpen, parts }) => !isOpen || parts > 1)
      .map((part) => ({
        path: '',
        message: `${nameOfChannel(channel)}: ${isFixed(part, 'files')}`,
        channel_id: channel.id,
      }));
  });
  if (faults.length > 0) {
    const message = faults.map((fault) => fault.message).join(' ');
    throw new AppError('invalid_content', message, { details: faults });
  }
}

function isFixed({ part, url, is_open: isOpen }: OutPart, what: 'text' | 'files'): string {
  const where = isOpen ? 'is being sent' : `is live (${url})`;
  const must = `so its ${what} must stay as ${what === 'text' ? 'it is' : 'they are'}`;
  return `Part ${part + 1} of the thread ${where}, ${must}${isOpen ? ' until that is over' : ''}.`;
}
