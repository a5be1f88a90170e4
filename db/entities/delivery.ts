import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, id, instant } from './columns.ts';
import { Event } from './event.ts';
import { WebhookEndpoint } from './webhook-endpoint.ts';
import { Workspace } from './workspace.ts';

export const deliveryStatuses = ['pending', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

const DeliverySchema = defineEntity({
  name: 'Delivery',
  tableName: 'deliveries',
  uniques: [{ properties: ['endpointId', 'eventId'] }],
  indexes: [{ name: 'deliveries_newest', properties: ['endpointId', 'createdAt', 'id'] }],
  properties: {
    id: id(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    endpointId: () =>
      p.manyToOne(WebhookEndpoint).mapToPk().name('endpoint_id').deleteRule('cascade'),
    eventId: () => p.manyToOne(Event).mapToPk().name('event_id').index(),
    status: p.text().$type<DeliveryStatus>().default('pending'),
    nextAttemptAt: instant().strictNullable(),
    createdAt: createdAt(),
  },
});

/** One event on its way to one endpoint. */
export class Delivery extends DeliverySchema.class {}
DeliverySchema.setClass(Delivery);
