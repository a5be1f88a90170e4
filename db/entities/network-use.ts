import { defineEntity, p } from '@mikro-orm/core';
import { Workspace } from './workspace.ts';

export const NetworkUseSchema = defineEntity({
  name: 'NetworkUse',
  tableName: 'network_use',
  primaryKeys: ['workspaceId', 'platform', 'day'],
  properties: {
    workspaceId: () =>
      p.manyToOne(Workspace).mapToPk().name('workspace_id').primary().deleteRule('cascade'),
    platform: p.text().primary(),
    /** In UTC. */
    day: p.date().primary(),
    used: p.integer(),
  },
});

/** Used part of a workspace's daily allowance on a network. */
export class NetworkUse extends NetworkUseSchema.class {}
NetworkUseSchema.setClass(NetworkUse);
