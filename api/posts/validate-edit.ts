import type { PostChannel } from '../../db/entities/post-channel.ts';
import { outParts, type OutPart } from '../../db/ledger/live-parts.ts';
import type { Em } from '../../db/orm.ts';
import { AppError } from '../../domain/errors.ts';
import { textsForChannel, withComment } from '../../domain/texts.ts';
import type { Options, RulesByPlatform } from '../../networks/content-rules.ts';
import type { EditedChannels } from './edit-channels.ts';
import type { EditedMedia } from './edit-media.ts';
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
  media: Pick<EditedMedia, 'files' | 'changedParts'>,
  isScheduled: boolean,
): Promise<ChannelValidation[]> {
  const edited = { rules, kept, content, changedParts: media.changedParts };
  const validated = validateContent(rules, open, content, media.files);
  const validations = await addChangedParts(em, edited, validated);
  if (isScheduled && open.length + sending.length === 0 && kept.size > 0) {
    throw new AppError(
      'no_channels',
      'Every channel of the post has it, or may have it: there is none left to send it to. An unconfirmed channel can be settled, and a new post be made for all.',
    );
  }

  if (isScheduled) {
    const asTheyAre = sending.map((channel) => ({ channel, errors: [], warnings: [], texts: [] }));
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
 * Adds an error where part of a thread is live already, and the edited post says something else there, or shows other
 * files. That part cannot be unsaid, and is not sent again, so what is new about it would never go out. The same holds for a part
 * that is being sent: when it lands, the rest of another thread would go below it.
 */
async function addChangedParts(
  em: Em,
  { rules, kept, content, changedParts }: Edited,
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
      .flatMap((part) => {
        const isOtherText = part.text !== texts[part.part];
        const isOtherFiles = hasOtherFiles(part.part, own.length, changedParts);
        return [isOtherText && isFixed(part, 'text'), isOtherFiles && isFixed(part, 'files')];
      })
      .filter((fault) => fault !== false);
    return { ...validation, errors: [...validation.errors, ...faults] };
  });
}

/** @param posts How many posts the channel gets: a single one has the files of all parts, a comment has none. */
const hasOtherFiles = (part: number, posts: number, changed: ReadonlySet<number>): boolean =>
  posts > 1 ? changed.has(part) : part === 0 && changed.size > 0;

function isFixed({ part, url, is_open: isOpen }: OutPart, what: 'text' | 'files'): string {
  const where = isOpen ? 'is being sent' : `is live (${url})`;
  const must = `so its ${what} must stay as ${what === 'text' ? 'it is' : 'they are'}`;
  return `Part ${part + 1} of the thread ${where}, ${must}${isOpen ? ' until that is over' : ''}.`;
}
