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
    type: p.text(),
    sizeBytes: p.bigint('number'),
    /** In pixels, as displayed. */
    width: p.integer().strictNullable(),
    height: p.integer().strictNullable(),
    durationMs: p.integer().strictNullable(),
    /** Null for files that were uploaded before this column existed. */
    details: p.json<MediaDetails>().nullable(),
    altText: p.text().strictNullable(),
    storageKey: p.text(),
    /** Secret in the file's link, which gives access without an API key. */
    linkToken: p.text(),
    createdAt: createdAt(),
    /** Null until its bytes are stored, and from the moment when they are removed. */
    storedAt: instant().strictNullable(),
    /** The row of a file that posts used stays, so that they can say so. */
    deletedAt: instant().strictNullable(),
  },
});

export class MediaFile extends MediaFileSchema.class {}
MediaFileSchema.setClass(MediaFile);
