import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';
import { Workspace } from './workspaces.ts';

/** Identity of the database, in one row. A dump includes it. */
export const InstallationSchema = defineEntity({
  name: 'Installation',
  tableName: 'installation',
  properties: {
    id: p.uuid().primary(),
    /** Id of the SECRET_KEY that the secrets are sealed under; null until the first process starts. */
    sealedBy: p.text().strictNullable(),
    /** Time at which the media storage was marked as this database's (`db/installation.ts`). */
    storageMarkedAt: instant().strictNullable(),
    /** Counter of workers and the time of its last increment (`db/restore-counter.ts`). */
    beats: p.integer().default(0),
    beatAt: instant().strictNullable(),
    /** Time at which a restore was detected, or of the first known change that it lost; null after `restore finish`. */
    behindSince: instant().strictNullable(),
  },
});

/** Used part of a workspace's daily allowance on a network. */
export const NetworkUseSchema = defineEntity({
  name: 'NetworkUse',
  tableName: 'network_use',
  primaryKeys: ['workspaceId', 'platform', 'day'],
  properties: {
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id').primary(),
    platform: p.text().primary(),
    /** In UTC. */
    day: p.date().primary(),
    used: p.integer(),
  },
});
