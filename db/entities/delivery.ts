import { defineEntity, p } from '@mikro-orm/core';
import type { DeliveryError } from '../../domain/webhook-deliveries.ts';
import { createdAt, id, instant } from './columns.ts';
import { Event } from './event.ts';
import { WebhookEndpoint } from './webhook-endpoint.ts';
import { Workspace } from './workspace.ts';

export const deliveryStatuses = ['pending', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

export const DeliverySchema = defineEntity({
  name: 'Delivery',
  tableName: 'deliveries',
  uniques: [{ properties: ['endpointId', 'eventId'] }],
  indexes: [
    { name: 'deliveries_newest', properties: ['endpointId', 'createdAt', 'id'] },
    {
      name: 'deliveries_by_status',
      properties: ['endpointId', 'status', 'createdAt', 'id'],
    },
    {
      name: 'deliveries_ended',
      expression: `create index "deliveries_ended" on "deliveries" ("created_at") where "status" <> 'pending'`,
    },
    {
      name: 'deliveries_due',
      expression: `create index "deliveries_due" on "deliveries" (coalesce("next_attempt_at", "created_at")) where "status" = 'pending'`,
    },
    {
      name: 'deliveries_unsynced',
      expression:
        'create index "deliveries_unsynced" on "deliveries" ("id") where "synced_round" < "round"',
    },
  ],
  properties: {
    id: id(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    endpointId: () =>
      p.manyToOne(WebhookEndpoint).mapToPk().name('endpoint_id').deleteRule('cascade'),
    eventId: () => p.manyToOne(Event).mapToPk().name('event_id').index(),
    status: p.text().$type<DeliveryStatus>().default('pending'),
    /** 1, plus one for each replay. A round has six attempts. */
    round: p.integer().default(1),
    /**
     * Round of the last sync; the post's workflow starts the first. A row with a lower value than `round` is in the
     * outbox.
     */
    syncedRound: p.integer().default(1),
    /** Number of attempts in earlier rounds. */
    attemptsBefore: p.integer().default(0),
    /** Why it failed without an attempt; null otherwise. A code of domain/webhook-deliveries.ts. */
    error: p.text().$type<DeliveryError>().strictNullable(),
    nextAttemptAt: instant().strictNullable(),
    /** Time of the sweep's last check of its workflow. */
    checkedAt: instant().strictNullable(),
    createdAt: createdAt(),
  },
});

/** One event for one endpoint. */
export class Delivery extends DeliverySchema.class {}
DeliverySchema.setClass(Delivery);
