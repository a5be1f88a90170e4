import { insertPost } from '../../db/insert-post.ts';
import type { Em } from '../../db/orm.ts';
import { attachMedia } from '../../db/repositories/media.ts';
import type { PostUse } from '../../domain/quotas.ts';
import type { ContentFault } from '../../domain/warnings.ts';
import type { QuotaOwner } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { claimKey, KeyTakenError, type RequestKey } from '../idempotency.ts';
import { insertMedia, type MediaToInsert } from '../media/store-files.ts';
import type { ChosenChannel } from './choose-channels.ts';
import { bytesOfJson, textBytes, type PostContent } from './content.ts';
import { countNamed, type GivenFiles } from './given-files.ts';
import type { Labels } from './labels.ts';
import {
  altTextBytes,
  chooseMedia,
  factsOf,
  idsOfChannels,
  idsOfParts,
  optionFiles,
  placeFiles,
  type NamedIds,
} from './post-media.ts';
import { scheduledView } from './scheduled-view.ts';
import {
  assertPublishable,
  channelWarning,
  channelWarnings,
  validateContent,
  warningFor,
  warningsFor,
  type ChannelValidation,
} from './validate-content.ts';

export type NewPost = {
  readonly id: string;
  /** Null for a draft. */
  readonly dueAt: Date | null;
  readonly timezone: string | null;
  readonly content: PostContent;
  readonly labels: Labels;
  readonly media: readonly GivenFiles[];
  readonly optionFiles: readonly NamedIds[];
  /** Warnings about the request as a whole. */
  readonly notes: readonly ContentFault[];
  readonly key: RequestKey | undefined;
};

/**
 * Stores a post with its channels, files and idempotency key in one transaction. A second request with the same key
 * waits at the key's index until the first has committed.
 *
 * @param downloaded Files from `media_urls`; this inserts their rows.
 * @returns false, with nothing stored, when the key is taken.
 * @throws AppError `invalid_media_ids`, `quota_exceeded`; `no_channels` or `invalid_content` for a scheduled post.
 */
export async function storePost(
  deps: Pick<ServiceDeps, 'orm' | 'now' | 'rules' | 'publicUrl'>,
  owner: QuotaOwner,
  channels: readonly ChosenChannel[],
  post: NewPost,
  downloaded: MediaToInsert,
): Promise<boolean> {
  const now = deps.now();
  const { workspaceId } = owner;
  const apart = [...post.optionFiles, ...idsOfChannels(post.content)];
  const store = async (em: Em, takesQuotaFirst: boolean): Promise<void> => {
    const named = [...idsOfParts(post.media), ...apart];
    const found = await chooseMedia(em, workspaceId, named, downloaded.files);
    const inserted = await insertMedia(em, owner, downloaded, now);
    for (const file of inserted) {
      found.set(file.id, file);
    }

    const placed = [...placeFiles(post.media), ...optionFiles(apart)];
    const files = factsOf(placed, found, post.media);
    const validations = await validateContent(deps.rules, channels, post.content, files);
    if (post.dueAt) {
      assertPublishable(validations);
    }

    const { dueAt } = post;
    const view =
      dueAt && scheduledView(deps, { ...post, dueAt }, validations, { placed, found, now });
    const row = { ...rowOf(post, validations), createdAt: now, view };
    const use = useOf(post, validations, altTextBytes(placed));
    if (!(await insertPost(em, owner, row, use, takesQuotaFirst))) {
      throw new NoRoomSeen();
    }

    if (post.key !== undefined) {
      await claimKey(em, workspaceId, post.key, post.id, now);
    }

    if (placed.length > 0) {
      await attachMedia(em, workspaceId, post.id, placed);
    }
  };
  // Most posts have no key and no files. They need one statement and no explicit transaction.
  const isOneStatement =
    post.key === undefined && countNamed(post.media) + apart.length + downloaded.files.length === 0;
  return storeAgainIfNeeded((takesQuotaFirst) =>
    isOneStatement && !takesQuotaFirst
      ? store(deps.orm.em.fork(), false)
      : deps.orm.em.fork().transactional((em) => store(em, takesQuotaFirst)),
  );
}

/** @returns false, with nothing stored, when the key is taken. */
async function storeAgainIfNeeded(
  store: (takesQuotaFirst: boolean) => Promise<void>,
  takesQuotaFirst = false,
): Promise<boolean> {
  try {
    await store(takesQuotaFirst);
    return true;
  } catch (error) {
    if (error instanceof NoRoomSeen) {
      return storeAgainIfNeeded(store, true);
    }

    if (error instanceof KeyTakenError) {
      return false;
    }

    throw error;
  }
}

/** See `insertPost`. */
class NoRoomSeen extends Error {
  override readonly name = 'NoRoomSeen';
}

/** The use of a new post. @param altBytes Size of the alt texts that apply to this post only. */
const useOf = (
  { dueAt, content }: NewPost,
  validations: readonly ChannelValidation[],
  altBytes: number,
): PostUse => ({
  scheduled: dueAt ? 1 : 0,
  drafts: dueAt ? 0 : 1,
  text_bytes: textBytes(content) + bytesOfDefaults(validations) + altBytes,
});

/** The defaults that a post stores count towards its text. */
const bytesOfDefaults = (validations: readonly ChannelValidation[]): number =>
  validations.reduce((sum, { channel }) => sum + bytesOfJson(channel.options), 0);

function rowOf(post: NewPost, validations: readonly ChannelValidation[]) {
  const { id, dueAt, timezone, content, labels, notes } = post;
  const { body, thread, video, overrides, options, channelFiles } = content;
  const channels = validations.map((validation) => ({
    channelId: validation.channel.id,
    body: overrides[validation.channel.id] ?? null,
    options: options[validation.channel.id] ?? null,
    defaults: validation.channel.options ?? null,
    media: channelFiles[validation.channel.id] ?? null,
    warning: channelWarning(validation),
    warnings: channelWarnings(validation),
    textHash: validation.textHash,
  }));
  const warning = warningFor(validations, notes);
  const warnings = warningsFor(validations, notes);
  return { id, dueAt, timezone, body, thread, video, ...labels, warning, warnings, channels };
}
