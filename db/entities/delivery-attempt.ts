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
    /** Start of the request. */
    createdAt: instant(),
    durationMs: p.integer(),
    responseStatus: p.integer().strictNullable(),
    /** Error code, see domain/webhook-deliveries.ts. */
    error: p.text().strictNullable(),
    /** Begun without a recorded end. The API does not show such attempts. */
    underWay: p.boolean().default(false),
    /** How often its request was begun: more than once if a worker died during it. */
    begun: p.integer().default(1),
  },
});

export class DeliveryAttempt extends DeliveryAttemptSchema.class {}
DeliveryAttemptSchema.setClass(DeliveryAttempt);
