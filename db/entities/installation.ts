import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';

export const InstallationSchema = defineEntity({
  name: 'Installation',
  tableName: 'installation',
  properties: {
    id: p.uuid().primary(),
    /** Id of the SECRET_KEY that the secrets are sealed under; null until the first process starts. */
    sealedBy: p.text().strictNullable(),
    /** Time at which the media storage was marked as this database's (`claimed-storage.ts`). */
    storageMarkedAt: instant().strictNullable(),
    /** Counter of workers and the time of its last increment (`restore-counter.ts`). */
    beats: p.integer().default(0),
    beatAt: instant().strictNullable(),
    /** Time at which a restore was detected; null after `restore finish`. */
    behindSince: instant().strictNullable(),
  },
});

/** Identity of the database, in one row. A dump includes it. */
export class Installation extends InstallationSchema.class {}
InstallationSchema.setClass(Installation);
