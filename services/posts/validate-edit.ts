import { isDeepStrictEqual } from 'node:util';
import type { PostOnChannel } from '../../db/repositories/posts.ts';
import { AppError } from '../../domain/errors.ts';
import { currentParts, isSent, mayBeLive, type Part } from '../../domain/live-parts.ts';
import type { ChannelFile } from '../../domain/media.ts';
import { textsForChannel, withComment } from '../../domain/parts.ts';
import { isWithheld } from '../../domain/post-view.ts';
import { isUnderWay } from '../../domain/statuses.ts';
import { plainFault } from '../../domain/warnings.ts';
import { optionsFor, type Options, type RulesByPlatform } from '../../networks/content-rules.ts';
import { nameOfChannel, type ChosenChannel } from './choose-channels.ts';
import type { PostContent } from './content.ts';
import type { EditedChannels } from './edit-channels.ts';
import type { EditedMedia } from './edit-media.ts';
import { assertPublishable, validateContent, type ChannelValidation } from './validate-content.ts';

export async function validateEdit(
  rules: RulesByPlatform,
  { open, closed, sending, kept, videoBefore }: EditedChannels,
  content: PostContent,
  media: Pick<EditedMedia, 'files' | 'changedParts'>,
  isScheduled: boolean,
): Promise<ChannelValidation[]> {
  const edited = {
    rules,
    kept,
    content,
    changedParts: media.changedParts,
    isScheduled,
    videoBefore,
  };
  const live = closed.filter(({ id }) => !isWithheld(kept.get(id)?.row.unpublish));
  assertLiveContent(edited, [...open, ...live]);
  const validated = await validateContent(rules, open, content, media.files);
  const validations = addChangedParts(edited, validated);
  if (isScheduled && open.length + sending.length === 0 && kept.size > 0) {
    const next = 'Settle an unconfirmed channel, or create a new post.';
    const message = `Every channel of the post has it, may have it, or had it removed. ${next}`;
    throw new AppError('no_channels', message);
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
  readonly isScheduled: boolean;
  readonly videoBefore: PostContent['video'];
} & Pick<EditedMedia, 'changedParts'>;

/**
 * A live part of a thread is not sent again, so its new text would never be published. A part that is being sent counts
 * as live: if it succeeds, the rest of a different thread would follow it. The number of parts stays too, because the
 * channel may end as published with those that it has. The text of a single post may change: the sent one is shown.
 */
function addChangedParts(
  { rules, kept, content, isScheduled }: Edited,
  validations: readonly ChannelValidation[],
): ChannelValidation[] {
  return validations.map((validation) => {
    const { id, platform } = validation.channel;
    const { threads = true, comments = false } = rules[platform] ?? {};
    const own = textsForChannel(content, content.overrides[id] ?? null, threads);
    const options: Options = { ...validation.channel.options, ...content.options[id] };
    const texts = withComment(own, options, comments);
    const known = kept.get(id);
    const isPublished = known?.row.status === 'published';
    const parts = known && (threads || !isPublished) ? liveParts(known, isScheduled) : [];
    const count = currentParts(known?.parts ?? []).length;
    const faults = parts
      .filter((part) => count > 1 || (isSent(part) && !isPublished))
      .filter((part) => part.text !== texts[part.part])
      .map((part) => plainFault(isFixed(part, 'text')));
    const end = isPublished ? '' : ' until its channel has a result';
    const message = `Part of the post may be live, so it keeps its number of parts (${count})${end}.`;
    const isOther = parts.some((part) => isPublished || !isSent(part)) && texts.length !== count;
    const errors = [...validation.errors, ...faults, ...(isOther ? [plainFault(message)] : [])];
    return { ...validation, errors };
  });
}

/** Parts that are or may be live. An attempt that has begun sends all parts of its run, unless a new time ends it. */
const liveParts = ({ row, parts }: PostOnChannel, isScheduled: boolean) =>
  isUnderWay(row.status) && !isScheduled ? currentParts(parts) : parts.filter(mayBeLive);

/**
 * Refuses other files and options for a part that is or may be live, also for a draft: the ledger stores the published
 * texts only, so a later edit could not detect the change.
 */
function assertLiveContent(
  { rules, kept, content, changedParts, isScheduled, videoBefore }: Edited,
  channels: readonly ChosenChannel[],
): void {
  const faults = channels.flatMap((channel) => {
    const [known, ofPlatform] = [kept.get(channel.id), rules[channel.platform]];
    if (!known || !ofPlatform) {
      return [];
    }

    const { body = null, media: before = null, options: own, status } = known.row;
    const after = content.channelFiles[channel.id] ?? null;
    // Without a thread there the post has the files of all parts, and its comment has none.
    const isThread = ofPlatform.threads !== false && body === null;
    const ofPost = (part: number) =>
      isThread ? changedParts.has(part) : part === 0 && changedParts.size > 0;
    // Own files are those of the first part, instead of the files of all parts.
    const ofOwn = (part: number) =>
      !isDeepStrictEqual(idsIn(before), idsIn(after)) && (part === 0 || !before || !after);
    const isChanged = before === null && after === null ? ofPost : ofOwn;
    const chosen = (video: PostContent['video'], options: typeof own | undefined) =>
      optionsFor(ofPlatform, { defaults: channel.options, video, own: options });
    const options = status === 'published' ? own : content.options[channel.id];
    const isSame = isDeepStrictEqual(chosen(videoBefore, own), chosen(content.video, options));
    const parts = liveParts(known, isScheduled);
    return [
      ...parts.filter(({ part }) => isChanged(part)).map((part) => isFixed(part, 'files')),
      ...parts.slice(0, isSame ? 0 : 1).map((part) => isFixed(part, 'options')),
    ].map((fault) => ({
      path: '',
      message: `${nameOfChannel(channel)}: ${fault}`,
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

function isFixed(known: Part, what: 'text' | 'files' | 'options'): string {
  const where = isSent(known) ? `is live (${known.url})` : 'may be live';
  const must = `so its ${what} must stay as ${what === 'text' ? 'it is' : 'they are'}`;
  const end = isSent(known) ? '' : ' until its channel has a result';
  const others = what === 'files' ? ' Other channels take other files by channel_media.' : '';
  return `Part ${known.part + 1} of the post ${where}, ${must}${end}.${others}`;
}
