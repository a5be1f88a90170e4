import { defineEntity, p } from '@mikro-orm/core';
import { Workspace } from './workspace.ts';

export const QuotaShareSchema = defineEntity({
  name: 'QuotaShare',
  tableName: 'quota_shares',
  primaryKeys: ['workspaceId', 'share'],
  properties: {
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id').primary(),
    /** Number of the share, from 0. */
    share: p.smallint().primary(),
    /** The quotas for which the remainder was counted. */
    basis: p.text(),
    /** Remaining scheduled posts. */
    scheduled: p.bigint('number'),
    /** Remaining drafts. */
    drafts: p.bigint('number'),
    /** Remaining bytes of text. */
    textBytes: p.bigint('number'),
    /** Net bytes of text stored through this share. The sum over the shares is the workspace's text. */
    textUsed: p.bigint('number'),
  },
});

/**
 * A share of what a workspace's quotas leave. A post takes from one share, so that concurrent inserts seldom wait for
 * each other. If a share has too little, all are locked and counted again. Published posts return nothing, so the real
 * remainder is at least what the shares say.
 */
export class QuotaShare extends QuotaShareSchema.class {}
QuotaShareSchema.setClass(QuotaShare);
