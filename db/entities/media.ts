import { defineEntity, p } from '@mikro-orm/core';
import type { MediaDetails } from '../../domain/media.ts';
import { createdAt, id, instant } from './columns.ts';
import { Workspace } from './workspaces.ts';

export const MediaFileSchema = defineEntity({
  name: 'MediaFile',
  tableName: 'media_files',
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
    /** Null for files that were uploaded before this column existed. */
    details: p.json<MediaDetails>().nullable(),
    /** Alt text. A post may override it. */
    altText: p.text().strictNullable(),
    /** Key in the storage. */
    storageKey: p.text(),
    /** Secret in the file's link, which gives access without an API key. */
    linkToken: p.text(),
    createdAt: createdAt(),
    /** Time of deletion. The row stays without bytes, so that a post that used the file can say so. */
    deletedAt: instant().strictNullable(),
  },
});

/** An image or a video of a workspace's media library. */
export class MediaFile extends MediaFileSchema.class {}
MediaFileSchema.setClass(MediaFile);

/**
 * An unclaimed file of the storage: not yet or no longer in the library. The transaction that inserts or deletes the
 * file's row in the library deletes or inserts this row, so each stored file always has exactly one of both.
 */
export const UnsettledFileSchema = defineEntity({
  name: 'UnsettledFile',
  tableName: 'unsettled_files',
  properties: {
    /** Key in the storage, and id of its (possible) row in the library. */
    id: p.uuid().primary(),
    /** By the database's clock. Time at which its storing began, or of the last attempt to remove it. */
    notedAt: instant(),
    /** No row of the library will refer to it, and its bytes are to be removed. */
    isLost: p.boolean(),
  },
});
