import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';

export const InstallationSchema = defineEntity({
  name: 'Installation',
  tableName: 'installation',
  properties: {
    id: p.uuid().primary(),
    /** The name of the SECRET_KEY that the secrets are sealed under; null until the first process comes. */
    sealedBy: p.text().strictNullable(),
    /** When the media storage was marked as this database's (`claimed-storage.ts`). */
    storageMarkedAt: instant().strictNullable(),
    /** How often workers have written to the row, and when last (`beats.ts`). */
    beats: p.integer().default(0),
    beatAt: instant().strictNullable(),
    /** Since when it is known that a backup was restored; null again after `restore finish`. */
    behindSince: instant().strictNullable(),
  },
});

/** One row: which database this is. A dump takes it along. */
export class Installation extends InstallationSchema.class {}
InstallationSchema.setClass(Installation);
