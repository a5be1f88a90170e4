import { defineEntity, p } from '@mikro-orm/core';
import { Workspace } from './workspace.ts';

export const QuotaShareSchema = defineEntity({
  name: 'QuotaShare',
  tableName: 'quota_shares',
  primaryKeys: ['workspaceId', 'share'],
  properties: {
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id').primary(),
    /** Which one, from 0. */
    share: p.smallint().primary(),
    /** The quotas for which the room was counted. */
    basis: p.text(),
    /** How many more posts may be scheduled by way of this share. */
    scheduled: p.bigint('number'),
    /** How many more drafts may be made. */
    drafts: p.bigint('number'),
    /** How many more bytes of text may be stored. */
    textBytes: p.bigint('number'),
    /** What came and went of text by way of this share: the sum over the shares is what the workspace has. */
    textUsed: p.bigint('number'),
  },
});

/**
 * A part of the room that a workspace's quotas leave. A post takes from one share, so that posts which are made side by
 * side seldom wait for each other; where a share has too little, all of them are locked and counted anew. Posts that go
 * out give nothing back: there is always at least as much room as the shares say.
 */
export class QuotaShare extends QuotaShareSchema.class {}
QuotaShareSchema.setClass(QuotaShare);
