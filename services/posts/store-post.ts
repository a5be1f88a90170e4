import { sql } from 'kysely';
import { insertAudit } from '../../db/audit.ts';
import { newId } from '../../db/new-id.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { eventBody, eventWithDeliveries } from '../../db/record-event.ts';
import { attachMedia } from '../../db/repositories/media.ts';
import type { PostView } from '../../domain/post-view.ts';
import type { ContentFault } from '../../domain/warnings.ts';
import type { QuotaOwner } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { claimKey, KeyTakenError, type RequestKey } from '../idempotency.ts';
import { insertMedia, type MediaToInsert } from '../media/store-files.ts';
import { quotaIfRoom, takeQuota } from '../quotas/post-quota.ts';
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
import { sameText } from './same-text.ts';
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
  /** Files that options name. */
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
    const validations = validateContent(deps.rules, channels, post.content, files);
    if (post.dueAt) {
      assertPublishable(validations);
    }

    const altBytes = altTextBytes(placed);
    const { dueAt } = post;
    const view =
      dueAt && scheduledView(deps, { ...post, dueAt }, validations, { placed, found, now });
    await insertPost(em, owner, post, { validations, now, takesQuotaFirst, altBytes, view });
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

/** The statement saw no room for the post, or the workspace changed meanwhile. */
class NoRoomSeen extends Error {
  override readonly name = 'NoRoomSeen';
}

/** Inserts the post, its channels, its entry in the audit log and the event of a scheduled one, and takes their quota, in one statement. */
async function insertPost(
  em: Em,
  owner: QuotaOwner,
  post: NewPost,
  {
    validations,
    now,
    takesQuotaFirst,
    altBytes,
    view,
  }: {
    readonly validations: readonly ChannelValidation[];
    readonly now: Date;
    /** Waits for other changes of the workspace, so that the count is exact. */
    readonly takesQuotaFirst: boolean;
    /** Size of the alt texts that apply to this post only. */
    readonly altBytes: number;
    /** Null for a draft. */
    readonly view: PostView | null;
  },
): Promise<void> {
  const change = {
    scheduled: post.dueAt ? 1 : 0,
    drafts: post.dueAt ? 0 : 1,
    text_bytes: textBytes(post.content) + bytesOfDefaults(validations) + altBytes,
  };
  if (takesQuotaFirst) {
    await takeQuota(em, owner, change);
  }

  const insertion = sql<{ is_stored: boolean }>`
    with room as (${takesQuotaFirst ? sql`select ${owner.workspaceId}::uuid as workspace_id` : quotaIfRoom(owner, change)}),
      post as (${postRow(post, validations, now)}),
      channels as (${channelRows(owner.workspaceId, post, validations)}),
      audit as (${insertAudit(owner, 'post.created', sql`(select ${newId()}::uuid, id from post)`)})
      ${view ? sql`, ${scheduledEvent(owner.workspaceId, view, now)}` : sql``}
    select exists (select from post) as is_stored`;
  const [stored] = await query(em, insertion);
  if (!stored?.is_stored) {
    throw new NoRoomSeen();
  }
}

function scheduledEvent(workspaceId: string, post: PostView, createdAt: Date) {
  const id = newId();
  const type = 'post.scheduled';
  const body = eventBody(id, { workspaceId, type, data: { post }, createdAt });
  return eventWithDeliveries({
    event: { id, workspaceId, type, body, createdAt, postId: post.id },
    onlyWith: sql.table('post'),
    byOutbox: true,
  });
}

/** The defaults that a post stores count towards its text. */
const bytesOfDefaults = (validations: readonly ChannelValidation[]): number =>
  validations.reduce((sum, { channel }) => sum + bytesOfJson(channel.options), 0);

/** A new draft is stored as synced: it needs no workflow. */
const firstRevision = 1;

/** Plain SQL takes a fifth of the time of entities. Inserts no row without room in the quotas. */
const postRow = (
  { id, dueAt, timezone, content, labels, notes }: NewPost,
  validations: readonly ChannelValidation[],
  now: Date,
) => sql`
  insert into posts
    (id, workspace_id, body, thread, scheduled_at, timezone, status, synced_revision, video, warning, warnings, tags, metadata,
      external_id, created_at, updated_at)
  select ${id}::uuid, workspace_id, ${content.body}::text, ${json(content.thread)}::jsonb, ${dueAt}::timestamptz, ${timezone}::text,
    ${dueAt ? 'scheduled' : 'draft'}::text, ${dueAt ? 0 : firstRevision}::int, ${json(content.video)}::jsonb,
    ${warningFor(validations, notes)}::text, ${json(warningsFor(validations, notes))}::jsonb, ${labels.tags}::text[], ${json(labels.metadata)}::jsonb,
    ${labels.externalId}::text, ${now}::timestamptz, ${now}::timestamptz
  from room
  returning id, workspace_id, status`;

function channelRows(
  workspaceId: string,
  { id: postId, content, dueAt }: NewPost,
  validations: readonly ChannelValidation[],
) {
  const channels = validations.map((validation, position) => ({
    id: newId(),
    channel_id: validation.channel.id,
    position,
    body: content.overrides[validation.channel.id] ?? null,
    options: content.options[validation.channel.id] ?? null,
    defaults: validation.channel.options,
    media: content.channelFiles[validation.channel.id] ?? null,
    warning: channelWarning(validation),
    warnings: channelWarnings(validation),
    text_hash: validation.textHash,
    due_at: dueAt,
  }));
  return sql`
    insert into post_channels (id, workspace_id, post_id, channel_id, position, body, options, defaults, media, status,
      warning, warnings, text_hash, text_due_at)
    select c.id, p.workspace_id, p.id, c.channel_id, c.position, c.body, c.options, c.defaults, c.media, p.status,
      nullif(concat_ws(' ', c.warning, same.warning), ''),
      c.warnings || case when same.warning is null then '[]' else jsonb_build_array(jsonb_build_object('channel_id', c.channel_id,
        'message', same.warning, 'path', '', 'rule', 'same_text', 'limit', null, 'actual', null)) end, c.text_hash, c.due_at
    from post p, jsonb_to_recordset(${JSON.stringify(channels)}::jsonb)
      as c(id uuid, channel_id uuid, position int, body text, options jsonb, defaults jsonb, media jsonb, warning text, warnings jsonb, text_hash bigint, due_at timestamptz)
    left join lateral (${sameText({ workspaceId, postId })}) same on true`;
}

const json = (value: object | null): string | null =>
  value === null ? null : JSON.stringify(value);
