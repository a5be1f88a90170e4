import { defineEntity, p } from '@mikro-orm/core';
import type { VideoOptions } from '../../domain/post-view.ts';
import type { PostWarning } from '../../domain/warnings.ts';
import type { PostStatus } from '../../domain/statuses.ts';
import { createdAt, id, instant } from './columns.ts';
import { MediaFile } from './media.ts';
import { Workspace } from './workspaces.ts';

export const PostSchema = defineEntity({
  name: 'Post',
  tableName: 'posts',
  properties: {
    id: id(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    body: p.text().strictNullable(),
    thread: p.json<readonly string[]>().strictNullable(),
    scheduledAt: instant().strictNullable(),
    timezone: p.text().nullable(),
    status: p.text().$type<PostStatus>(),
    /** Incremented by every change that the workflow has to receive. */
    revision: p.integer().default(1),
    /** Revision of the last sync. A row with a lower value than `revision` is in the outbox. */
    syncedRevision: p.integer().default(0),
    /** 1, plus one for each further run. */
    run: p.integer().default(1),
    /** Time of the last retry. The publish window then starts here instead of at `scheduledAt`. */
    retriedAt: instant().strictNullable(),
    video: p.json<VideoOptions>().strictNullable(),
    warning: p.text().strictNullable(),
    /** The same as a list; null for a row that an older version wrote. */
    warnings: p.json<readonly PostWarning[]>().nullable(),
    /** The caller's own words, data and id for the post. */
    tags: p.array().$type<readonly string[]>().default([]),
    metadata: p.json<Readonly<Record<string, string>>>().defaultRaw(`'{}'`),
    externalId: p.text().strictNullable(),
    publishedAt: instant().strictNullable(),
    /** When its workflow wakes up, if later than its due time (`temporal/sync-post.ts`). */
    wakesAt: instant().strictNullable(),
    /** A call asked to remove it from its networks, and the removal has not ended. */
    isBeingRemoved: p.boolean().default(false),
    /** Time of the sweep's last check of its workflow. */
    checkedAt: instant().strictNullable(),
    createdAt: createdAt(),
    /** Every writer sets it. */
    updatedAt: createdAt(),
  },
});

/** A post. This row, not Temporal, is the source of truth. */
export class Post extends PostSchema.class {}
PostSchema.setClass(Post);

export const PostMediaSchema = defineEntity({
  name: 'PostMedia',
  tableName: 'post_media',
  primaryKeys: ['postId', 'mediaId', 'part'],
  properties: {
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    postId: () => p.manyToOne(Post).mapToPk().name('post_id').primary(),
    mediaId: () => p.manyToOne(MediaFile).mapToPk().name('media_id').primary(),
    /** Part of the thread, from 0; -1 for a file of a channel's option or of a channel only. */
    part: p.integer().primary().default(0),
    position: p.integer(),
    /** Alt text for this post only, instead of the file's. */
    altText: p.text().strictNullable(),
    /** Whether it came from `media_urls`. An edit replaces these separately from those of `media_ids`. */
    fromUrl: p.boolean(),
  },
});

export class PostMedia extends PostMediaSchema.class {}
PostMediaSchema.setClass(PostMedia);
