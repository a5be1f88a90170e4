import { isDeepStrictEqual } from 'node:util';
import type { PostOnChannel } from '../../db/repositories/posts.ts';
import { AppError } from '../../domain/errors.ts';
import { currentParts, isOpen, mayBeLive, type Part } from '../../domain/live-parts.ts';
import type { ChannelFile } from '../../domain/media.ts';
import { textsForChannel, withComment } from '../../domain/parts.ts';
import { isWithheld } from '../../domain/post-view.ts';
import { plainFault } from '../../domain/warnings.ts';
import type { Options, RulesByPlatform } from '../../networks/content-rules.ts';
import { nameOfChannel, type ChosenChannel } from './choose-channels.ts';
import type { PostContent } from './content.ts';
import type { EditedChannels } from './edit-channels.ts';
import type { EditedMedia } from './edit-media.ts';
import { assertPublishable, validateContent, type ChannelValidation } from './validate-content.ts';

export async function validateEdit(
  rules: RulesByPlatform,
  { open, closed, sending, kept }: EditedChannels,
  content: PostContent,
  media: Pick<EditedMedia, 'files' | 'changedParts'>,
  isScheduled: boolean,
): Promise<ChannelValidation[]> {
  const edited = { rules, kept, content, changedParts: media.changedParts };
  const live = closed.filter(({ id }) => !isWithheld(kept.get(id)?.row.unpublish));
  assertLiveFiles(edited, [...open, ...live]);
  const validated = await validateContent(rules, open, content, media.files);
  const validations = addChangedParts(edited, validated);
  if (isScheduled && open.length + sending.length === 0 && kept.size > 0) {
    throw new AppError(
      'no_channels',
      'Every channel of the post has it, or may have it: no channel is left to send it to. Settle an unconfirmed channel, or create a new post.',
    );
  }

  const nothing = { errors: [], warnings: [], texts: [], textHash: null };
  const others = live.map((channel) => Object.assign({ channel }, nothing));
  const checked = [...(isScheduled ? validations : []), ...addChangedParts(edited, others)];
  if (isScheduled || checked.length > 0) {
    assertPublishable(checked);
  }

  return validations;
}

type Edited = {
  readonly rules: RulesByPlatform;
  readonly kept: ReadonlyMap<string, PostOnChannel>;
  readonly content: PostContent;
} & Pick<EditedMedia, 'changedParts'>;

/**
 * A live part of a thread is not sent again, so its new text would never be published. A part that is being sent counts
 * as live: if it succeeds, the rest of a different thread would follow it. The number of parts stays too, because the
 * channel may end as published with those that it has. A published channel without a thread shows its own text.
 */
function addChangedParts(
  { rules, kept, content }: Edited,
  validations: readonly ChannelValidation[],
): ChannelValidation[] {
  return validations.map((validation) => {
    const { id, platform } = validation.channel;
    const { threads = true, comments = false } = rules[platform] ?? {};
    const own = textsForChannel(content, content.overrides[id] ?? null, threads);
    const options: Options = { ...validation.channel.options, ...content.options[id] };
    const texts = withComment(own, options, comments);
    const { row, parts: known = [] } = kept.get(id) ?? {};
    const isPublished = row?.status === 'published';
    const parts = isPublished && !threads ? [] : known;
    const count = currentParts(parts).length;
    const faults = fixedParts(isPublished && count === 1 ? [] : parts)
      .filter((part) => part.text !== texts[part.part])
      .map((part) => plainFault(isFixed(part, 'text')));
    const end = isPublished ? '' : ' until its channel has a result';
    const message = `Part of the post may be live, so it keeps its number of parts (${count})${end}.`;
    const isOther = (isPublished || parts.some(isOpen)) && ![0, texts.length].includes(count);
    const errors = [...validation.errors, ...faults, ...(isOther ? [plainFault(message)] : [])];
    return { ...validation, errors };
  });
}

/**
 * The parts of a channel that are or may be live. A single post may change while it is being sent: if the attempt
 * succeeds nothing is missing, otherwise the new content is sent.
 */
const fixedParts = (parts: PostOnChannel['parts']) =>
  parts.filter(
    (part) =>
      mayBeLive(part) &&
      (!isOpen(part) || parts.some((other) => other.run === part.run && other !== part)),
  );

/**
 * Refuses other files for a part that is or may be live, also for a draft: the ledger stores the published texts but
 * not the files, so a later edit could not detect the change.
 */
function assertLiveFiles(
  { rules, kept, content, changedParts }: Edited,
  channels: readonly ChosenChannel[],
): void {
  const faults = channels.flatMap((channel) => {
    const known = kept.get(channel.id);
    const [before, after] = [known?.row.media ?? null, content.channelFiles[channel.id] ?? null];
    const threads = rules[channel.platform]?.threads ?? true;
    // Without threads the post has the files of all parts, and its comment has none.
    const ofPost = (part: number) =>
      threads ? changedParts.has(part) : part === 0 && changedParts.size > 0;
    // Own files are those of the first part, instead of the files of all parts.
    const ofOwn = (part: number) =>
      !isDeepStrictEqual(idsIn(before), idsIn(after)) && (part === 0 || !before || !after);
    const hasOwn = before !== null || after !== null;
    const isChanged = hasOwn ? ofOwn : ofPost;
    return fixedParts(known?.parts ?? [])
      .filter(({ part }) => isChanged(part))
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

const idsIn = (files: readonly ChannelFile[] | null): string[] | undefined =>
  files?.map((file) => file.media_id);

function isFixed(known: Part, what: 'text' | 'files'): string {
  const where = isOpen(known) ? 'may be live' : `is live (${known.url})`;
  const must = `so its ${what} must stay as ${what === 'text' ? 'it is' : 'they are'}`;
  const end = isOpen(known) ? ' until its channel has a result' : '';
  const others = what === 'text' ? '' : ' Other channels take other files by channel_media.';
  return `Part ${known.part + 1} of the post ${where}, ${must}${end}.${others}`;
}
