import { defineEntity, p } from '@mikro-orm/core';
import { id, instant } from './columns.ts';
import { Workspace } from './workspace.ts';

/**
 * `workflow_gone`: nothing in Temporal would publish the post. `overdue`: something would, and has not.
 * `delivery_gone`: nothing in Temporal would deliver the event.
 */
const findKinds = ['workflow_gone', 'overdue', 'delivery_gone'] as const;
export type FindKind = (typeof findKinds)[number];

export const SweepFindSchema = defineEntity({
  name: 'SweepFind',
  tableName: 'sweep_finds',
  properties: {
    id: id(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    /** No reference: what was found outlives the row that it was found of. */
    postId: p.uuid().strictNullable().index(),
    deliveryId: p.uuid().strictNullable(),
    kind: p.text().$type<FindKind>(),
    foundAt: instant().index(),
  },
});

/** Something that the sweep found wrong, and healed. */
export class SweepFind extends SweepFindSchema.class {}
SweepFindSchema.setClass(SweepFind);
