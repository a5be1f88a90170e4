import { defineEntity, p } from '@mikro-orm/core';
import type { Quotas } from '../../domain/quotas.ts';
import { createdAt, id } from './columns.ts';

export const WorkspaceSchema = defineEntity({
  name: 'Workspace',
  tableName: 'workspaces',
  properties: {
    id: id(),
    name: p.text().strictNullable(),
    /** Null without an active plan: nothing can be scheduled. */
    plan: p.text().strictNullable().default('standard'),
    /** Quotas that differ from the settings, by name. */
    quotas: p.json<Partial<Quotas>>().defaultRaw(`'{}'`),
    createdAt: createdAt(),
  },
});

/** A customer. Owns posts, channels, keys and webhook endpoints; every query is restricted to one. */
export class Workspace extends WorkspaceSchema.class {}
WorkspaceSchema.setClass(Workspace);
