import { defineEntity, p } from '@mikro-orm/core';
import type { Quotas } from '../../domain/quotas.ts';
import { createdAt, id } from './columns.ts';

export const WorkspaceSchema = defineEntity({
  name: 'Workspace',
  tableName: 'workspaces',
  properties: {
    id: id(),
    name: p.text().strictNullable(),
    /** Null: no active plan, so nothing can be scheduled. */
    plan: p.text().strictNullable().default('standard'),
    /** Where it may have more or less than the settings say: how much, by name. */
    quotas: p.json<Partial<Quotas>>().defaultRaw(`'{}'`),
    createdAt: createdAt(),
  },
});

/** Whose posts, channels, keys and webhooks these are. Every query names one. */
export class Workspace extends WorkspaceSchema.class {}
WorkspaceSchema.setClass(Workspace);
