import { defineEntity, p } from '@mikro-orm/core';
import { id, instant } from './columns.ts';
import { Workspace } from './workspace.ts';

/**
 * `workflow_gone`: the post's workflow was lost. `overdue`: the workflow exists, but the post is late. `delivery_gone`:
 * the delivery's workflow was lost.
 */
const findKinds = ['workflow_gone', 'overdue', 'delivery_gone'] as const;
export type FindKind = (typeof findKinds)[number];

export const SweepFindSchema = defineEntity({
  name: 'SweepFind',
  tableName: 'sweep_finds',
  properties: {
    id: id(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    /** No foreign key: a find outlives its row. */
    postId: p.uuid().strictNullable().index(),
    deliveryId: p.uuid().strictNullable(),
    kind: p.text().$type<FindKind>(),
    foundAt: instant().index(),
  },
});

/** An error that the sweep found and repaired. */
export class SweepFind extends SweepFindSchema.class {}
SweepFindSchema.setClass(SweepFind);
