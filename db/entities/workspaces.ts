import { defineEntity, p } from '@mikro-orm/core';
import type { Scope } from '../../domain/api-keys.ts';
import type { Brand } from '../../domain/brand.ts';
import type { Quotas } from '../../domain/quotas.ts';
import { createdAt, id, instant } from './columns.ts';

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
    /** Bytes of text of all its posts. */
    textUsed: p.bigint('number').default(0),
    /** Fields that differ from the settings. */
    brand: p.json<Partial<Brand>>().defaultRaw(`'{}'`),
    /** Sequence of the newest numbered event. */
    lastEventSequence: p.bigint('number').default(0),
    createdAt: createdAt(),
    /** From then on nothing of it works, and its rows are deleted in the background. */
    deletedAt: instant().strictNullable(),
    /** Everything but this row is gone. The row stays, because checking all references to it would read whole tables. */
    purgedAt: instant().strictNullable(),
  },
});

/** A customer. Owns posts, channels, keys and webhook endpoints; every query is restricted to one. */
export class Workspace extends WorkspaceSchema.class {}
WorkspaceSchema.setClass(Workspace);

export const ApiKeySchema = defineEntity({
  name: 'ApiKey',
  tableName: 'api_keys',
  properties: {
    id: id(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    /** SHA-256 of the whole key, in hex. The key itself is shown once and not stored. */
    hash: p.text(),
    lastFour: p.text(),
    name: p.text().strictNullable(),
    /** Null for all. */
    scopes: p.array<Scope>().columnType('text[]').strictNullable(),
    /** The only channels that it sees and uses; null for all. */
    channelIds: p.array().columnType('uuid[]').name('channel_ids').strictNullable(),
    expiresAt: instant().strictNullable(),
    createdAt: createdAt(),
    revokedAt: instant().strictNullable(),
    /** Accurate to a minute. */
    lastUsedAt: instant().strictNullable(),
  },
});

export class ApiKey extends ApiKeySchema.class {}
ApiKeySchema.setClass(ApiKey);

/** One change of one object by one caller. No foreign keys: a row outlives its object, and costs few checks. */
export const AuditEntrySchema = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_log',
  primaryKeys: ['workspaceId', 'at', 'id'],
  properties: {
    workspaceId: p.uuid().primary().name('workspace_id'),
    at: instant().primary(),
    id: p.uuid().primary(),
    actor: p.text(),
    /** The API key, the connect link or the operator key. */
    actorId: p.uuid().strictNullable(),
    action: p.text(),
    objectId: p.uuid(),
    requestId: p.text().strictNullable(),
    address: p.text().strictNullable(),
  },
});
