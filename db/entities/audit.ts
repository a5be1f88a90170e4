import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';

/** One change of one object by one caller. No foreign keys: a row outlives its object, and costs few checks. */
export const AuditEntrySchema = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_log',
  primaryKeys: ['workspaceId', 'at', 'id'],
  indexes: [
    {
      name: 'audit_log_action',
      expression: `create index "audit_log_action" on "audit_log" ("workspace_id", "action", "at", "id") where "action" <> 'post.created'`,
    },
    {
      name: 'audit_log_at',
      expression: 'create index "audit_log_at" on "audit_log" using brin ("at")',
    },
  ],
  properties: {
    workspaceId: p.uuid().primary().name('workspace_id'),
    at: instant().primary(),
    id: p.uuid().primary(),
    actor: p.text(),
    /** The API key, the connect link or the operator key. */
    actorId: p.uuid().strictNullable(),
    action: p.text(),
    objectId: p.uuid().index('audit_log_object'),
    requestId: p.text().strictNullable(),
    address: p.text().strictNullable(),
  },
});
