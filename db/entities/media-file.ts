import { defineEntity, p } from '@mikro-orm/core';
import type { MediaDetails } from '../../domain/media-details.ts';
import { createdAt, id, instant } from './columns.ts';
import { Workspace } from './workspace.ts';

export const MediaFileSchema = defineEntity({
  name: 'MediaFile',
  tableName: 'media_files',
  indexes: [
    {
      name: 'media_files_newest',
      expression:
        'create index "media_files_newest" on "media_files" ("workspace_id", "created_at", "id") where "deleted_at" is null',
    },
  ],
  properties: {
    id: id(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    name: p.text(),
    /** MIME type, read from the bytes. */
    type: p.text(),
    sizeBytes: p.bigint('number'),
    /** In pixels, as displayed. */
    width: p.integer().strictNullable(),
    height: p.integer().strictNullable(),
    durationMs: p.integer().strictNullable(),
    /** Null for a file that was uploaded before they were read. */
    details: p.json<MediaDetails>().nullable(),
    /** What is to be seen on it; a post may say it otherwise. */
    altText: p.text().strictNullable(),
    /** Where the storage has it. */
    storageKey: p.text(),
    /** In the file's link, which needs no key: who has the link may see the file. */
    linkToken: p.text().unique(),
    createdAt: createdAt(),
    /** The bytes are gone; the row stays, so that a post which used the file can say so. */
    deletedAt: instant().strictNullable(),
  },
});

/** An image or a video of a workspace's media library. */
export class MediaFile extends MediaFileSchema.class {}
MediaFileSchema.setClass(MediaFile);
