import { defineEntity, p } from '@mikro-orm/core';
import { id, instant } from './columns.ts';
import { Delivery } from './delivery.ts';
import { Workspace } from './workspace.ts';

export const DeliveryAttemptSchema = defineEntity({
  name: 'DeliveryAttempt',
  tableName: 'delivery_attempts',
  uniques: [{ properties: ['deliveryId', 'number'] }],
  properties: {
    id: id(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    deliveryId: () => p.manyToOne(Delivery).mapToPk().name('delivery_id').deleteRule('cascade'),
    /** From 1. */
    number: p.integer(),
    /** When the request began. */
    createdAt: instant(),
    durationMs: p.integer(),
    responseStatus: p.integer().strictNullable(),
    /** A coarse code; see domain/webhook-deliveries.ts. */
    error: p.text().strictNullable(),
    /** Begun, and nothing is known of its end: then it is not shown. */
    underWay: p.boolean().default(false),
    /** How often its request was begun: more than once when a worker died over it. */
    begun: p.integer().default(1),
  },
});

export class DeliveryAttempt extends DeliveryAttemptSchema.class {}
DeliveryAttemptSchema.setClass(DeliveryAttempt);
