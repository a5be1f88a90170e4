import type { Actor } from '../../db/audit.ts';
import { Post } from '../../db/entities/posts.ts';
import type { Em } from '../../db/orm.ts';
import { channelsOfPost } from '../../db/repositories/posts.ts';
import { AppError, pointerToken, type ErrorDetail } from '../../domain/errors.ts';
import { isText, normalized, notText } from '../../domain/texts.ts';
import type { PostInput } from './post-request.ts';

/** The caller's own notes on a post. They are neither published nor sent to Temporal. */
export type Labels = {
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  /** The post's id in the caller's system; unique in the workspace. */
  readonly externalId: string | null;
};

type LabelsInput = Pick<PostInput, 'tags' | 'metadata' | 'external_id'>;

const none: Labels = { tags: [], metadata: {}, externalId: null };

export const labelsOf = (input: LabelsInput): Labels => editedLabels(none, input);

/** Null clears a label, and undefined leaves it unchanged. */
export const editedLabels = (
  stored: Labels,
  {
    tags = stored.tags,
    metadata = stored.metadata,
    external_id: externalId = stored.externalId,
  }: LabelsInput,
): Labels => ({
  tags: (tags ?? []).map(storedTag),
  metadata: metadata ?? {},
  externalId: externalId && normalized(externalId, 'NFC'),
});

const storedTag = (tag: string): string => normalized(tag, 'NFC').trim();

/** In characters. */
const longestKey = 40;

export function assertLabels({ tags, metadata, external_id: externalId }: LabelsInput): void {
  const details: ErrorDetail[] = [];
  const check = (path: string, value: string, fault: string | null): void => {
    const message = isText(value) ? fault : notText;
    if (message !== null) {
      details.push({ path, message });
    }
  };
  const asStored = (tags ?? []).map(storedTag);
  for (const [index, tag] of asStored.entries()) {
    const first = asStored.indexOf(tag);
    const repeats = first < index ? `repeats /tags/${first}: send each tag once` : null;
    check(`/tags/${index}`, tag, tag === '' ? 'must not be blank' : repeats);
  }

  for (const [key, value] of Object.entries(metadata ?? {})) {
    const path = `/metadata/${pointerToken(key)}`;
    const fits = key !== '' && [...key].length <= longestKey;
    check(path, key + value, fits ? null : `must have a key of 1 to ${longestKey} characters`);
  }

  check('/external_id', externalId ?? '', null);
  if (details.length > 0) {
    const list = details.map(({ path, message }) => `${path} ${message}`).join('; ');
    throw new AppError('invalid_request', `The labels of the post do not fit: ${list}.`, {
      details,
    });
  }
}

/** Runs a write of a post, and names the owner of a taken external id. @param em Outside the transaction. */
export async function withExternalId<T>(
  em: Em,
  holder: Holder,
  { external_id: externalId }: LabelsInput,
  write: () => Promise<T>,
): Promise<T> {
  try {
    return await write();
  } catch (error) {
    const isTaken =
      error instanceof Error && 'constraint' in error && error.constraint === 'posts_external_id';
    if (!isTaken) {
      throw error;
    }

    throw taken(await ownerOf(em, holder, externalId), error);
  }
}

export async function assertFreeExternalId(
  em: Em,
  holder: Holder,
  { external_id: externalId }: LabelsInput,
): Promise<void> {
  const owner = typeof externalId === 'string' && (await ownerOf(em, holder, externalId));
  if (owner) {
    throw taken(owner);
  }
}

type Holder = Pick<Actor, 'workspaceId' | 'channelIds'>;

/** Returns the post that has the external id; its id is null if it is on none of a restricted key's channels. */
async function ownerOf(
  em: Em,
  { workspaceId, channelIds = null }: Holder,
  externalId: LabelsInput['external_id'],
): Promise<{ readonly id: string | null } | null> {
  const which = {
    workspaceId,
    externalId: labelsOf({ external_id: externalId ?? null }).externalId,
  };
  const post = await em.findOne(Post, which, { fields: ['id'] });
  if (!post || channelIds === null) {
    return post;
  }

  const ofPost = await channelsOfPost(em, { workspaceId, postId: post.id });
  return { id: ofPost.some((id) => channelIds.includes(id)) ? post.id : null };
}

function taken(post: { readonly id: string | null } | null, cause?: Error): AppError {
  const owner = post?.id ? `post ${post.id}` : 'another post';
  const message = `belongs to ${owner}: edit that post, delete it if it is on no network, or send another external_id`;
  return new AppError('external_id_taken', `/external_id ${message}.`, {
    details: [{ path: '/external_id', message }],
    cause,
  });
}
