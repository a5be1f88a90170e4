import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, id, instant } from './columns.ts';
import { Workspace } from './workspace.ts';

export const ApiKeySchema = defineEntity({
  name: 'ApiKey',
  tableName: 'api_keys',
  properties: {
    id: id(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id').index(),
    /** SHA-256 of the whole key, in hex. The key itself is shown once and not stored. */
    hash: p.text().unique(),
    lastFour: p.text(),
    createdAt: createdAt(),
    revokedAt: instant().strictNullable(),
    /** Accurate to a minute. */
    lastUsedAt: instant().strictNullable(),
  },
});

export class ApiKey extends ApiKeySchema.class {}
ApiKeySchema.setClass(ApiKey);
