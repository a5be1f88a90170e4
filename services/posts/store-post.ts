import { insertPost } from '../../db/insert-post.ts';
import type { Em } from '../../db/orm.ts';
import { attachMedia } from '../../db/repositories/media.ts';
import { linkOf } from '../../domain/media.ts';
import { viewPost, type PostView } from '../../domain/post-view.ts';
import type { PostUse } from '../../domain/quotas.ts';
import type { ContentFault } from '../../domain/warnings.ts';
import type { QuotaOwner } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { claimKey, type RequestKey } from '../idempotency.ts';
import type { MediaToInsert, NewMedia } from '../media/store-files.ts';
import type { ChosenChannel } from './choose-channels.ts';
import { bytesOfJson, textBytes, type PostContent } from './content.ts';
import { labelsOf } from './labels.ts';
import { altTextBytes, apartFiles, claimMedia, factsOf, filesOfChannels } from './post-media.ts';
import type { PostInput } from './post-request.ts';
import type { FileInPost, NamedFile } from './read-files.ts';
import {
  assertPublishable,
  validateContent,
  warningsOfChannel,
  warningsOfPost,
  type ChannelValidation,
} from './validate-content.ts';

export type NewPost = {
  readonly id: string;
  readonly dueAt: Date | null;
  readonly input: PostInput;
  readonly content: PostContent;
  readonly files: readonly FileInPost[];
  readonly optionFiles: readonly NamedFile[];
  readonly notes: readonly ContentFault[];
  readonly key: RequestKey | undefined;
};

/**
 * Stores a post with its channels, files and idempotency key in one transaction. A second request with the same key
 * waits at the key's index until the first has committed.
 *
 * @param downloaded Files from URLs; this inserts their rows.
 * @throws KeyTakenError
 */
export async function storePost(
  deps: Pick<ServiceDeps, 'orm' | 'now' | 'rules' | 'publicUrl'>,
  owner: QuotaOwner,
  channels: readonly ChosenChannel[],
  post: NewPost,
  downloaded: MediaToInsert,
): Promise<void> {
  const now = deps.now();
  const { workspaceId } = owner;
  const apart = [...post.optionFiles, ...filesOfChannels(post.content)];
  const placed = [...post.files, ...apartFiles(apart)];
  const store = async (em: Em, takesQuotaFirst: boolean): Promise<void> => {
    const found = await claimMedia(em, owner, [...post.files, ...apart], downloaded, now);
    const files = factsOf(placed, found);
    const validations = await validateContent(deps.rules, channels, post.content, files);
    if (post.dueAt) {
      assertPublishable(validations);
    }

    const row = { ...rowOf(post, validations), createdAt: now };
    const view = post.dueAt && scheduledView(deps, row, validations, { placed, found });
    const use = useOf(post, validations, altTextBytes(placed));
    if (!(await insertPost(em, owner, { ...row, view }, use, takesQuotaFirst))) {
      throw new NoRoomSeen();
    }

    if (post.key !== undefined) {
      await claimKey(em, workspaceId, post.key, post.id, now);
    }

    if (placed.length > 0) {
      await attachMedia(em, workspaceId, post.id, placed);
    }
  };
  const transact = (takesQuotaFirst: boolean) =>
    deps.orm.em.fork().transactional((em) => store(em, takesQuotaFirst));
  // Most posts have no key and no files. They need one statement and no explicit transaction.
  const isOneStatement = post.key === undefined && placed.length + downloaded.files.length === 0;
  try {
    await (isOneStatement ? store(deps.orm.em.fork(), false) : transact(false));
  } catch (error) {
    if (!(error instanceof NoRoomSeen)) {
      throw error;
    }

    await transact(true);
  }
}

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

function rowOf(
  { id, dueAt, input, content, notes }: NewPost,
  validations: readonly ChannelValidation[],
) {
  const { body, thread, video, overrides, options, channelFiles } = content;
  const channels = validations.map((validation) => ({
    channelId: validation.channel.id,
    body: overrides[validation.channel.id] ?? null,
    options: options[validation.channel.id] ?? null,
    defaults: validation.channel.options ?? null,
    media: channelFiles[validation.channel.id] ?? null,
    ...warningsOfChannel(validation),
    textHash: validation.textHash,
  }));
  const labels = labelsOf(input);
  const { timezone = null } = input;
  const warned = warningsOfPost(validations, notes);
  return { id, dueAt, timezone, body, thread, video, ...labels, ...warned, channels };
}

type Row = ReturnType<typeof rowOf> & { readonly createdAt: Date };

type Files = {
  readonly placed: readonly FileInPost[];
  readonly found: ReadonlyMap<string, Pick<NewMedia, 'name' | 'type' | 'linkToken' | 'altText'>>;
};

/** A scheduled post as a read right after its creation shows it, without the read: its event is stored with it. */
function scheduledView(
  { publicUrl, rules }: Pick<ServiceDeps, 'publicUrl' | 'rules'>,
  { externalId, dueAt, createdAt, channels, ...row }: Row,
  validations: readonly ChannelValidation[],
  { placed, found }: Files,
): PostView {
  const viewed = (id: string, part: number, altText: string | null) => {
    const file = found.get(id);
    if (!file) {
      return [];
    }

    const { type } = file;
    return [{ id, part, type, url: linkOf(publicUrl, file), alt_text: altText ?? file.altText }];
  };
  const ofPost = {
    ...row,
    status: 'scheduled' as const,
    external_id: externalId,
    scheduled_at: dueAt,
    published_at: null,
    created_at: createdAt,
    updated_at: createdAt,
    media: placed.flatMap(({ mediaId, part, altText }) =>
      part < 0 ? [] : viewed(mediaId, part, altText),
    ),
  };
  return viewPost(
    ofPost,
    channels.map(({ channelId, options, defaults, media, ...own }, index) => {
      const { platform = '', handle = '' } = validations[index]?.channel ?? {};
      return {
        ...untouched,
        ...own,
        channel_id: channelId,
        platform,
        handle,
        threads: rules[platform]?.threads ?? true,
        options: { ...defaults, ...options },
        media: media && media.flatMap((file) => viewed(file.media_id, 0, file.alt_text)),
      };
    }),
  );
}

const untouched = {
  status: 'scheduled',
  url: null,
  error: null,
  error_code: null,
  retry_at: null,
  sent_text: null,
  sent_warning: null,
  live: null,
  metrics: null,
  metrics_updated_at: null,
  gone_at: null,
  unpublish: null,
} as const;
