import { defineEntity, p } from '@mikro-orm/core';
import type { DisabledReason, DeliveryError } from '../../domain/webhook-deliveries.ts';
import type { EventType, Subscription } from '../../domain/statuses.ts';
import { createdAt, id, instant } from './columns.ts';
import { Workspace } from './workspaces.ts';
import { Channel } from './channels.ts';

export const WebhookEndpointSchema = defineEntity({
  name: 'WebhookEndpoint',
  tableName: 'webhook_endpoints',
  properties: {
    id: id(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    url: p.text(),
    events: p.json<readonly Subscription[]>(),
    description: p.text().strictNullable(),
    sealedSecret: p.text(),
    /** `whsec_…` and the last four characters. */
    secretHint: p.text(),
    /** Set during a rotation: the new secret signs beside the old one until `rotatesAt`, then alone. */
    nextSealedSecret: p.text().strictNullable(),
    nextSecretHint: p.text().strictNullable(),
    rotatesAt: instant().strictNullable(),
    /** First failure since the last success; null if the newest request succeeded. */
    failingSince: instant().strictNullable(),
    /** Time from which nothing is sent. Later deliveries are stored as failed and can be replayed. */
    disabledAt: instant().strictNullable(),
    disabledReason: p.text().$type<DisabledReason>().strictNullable(),
    createdAt: createdAt(),
  },
});

export class WebhookEndpoint extends WebhookEndpointSchema.class {}
WebhookEndpointSchema.setClass(WebhookEndpoint);

export const EventSchema = defineEntity({
  name: 'Event',
  tableName: 'events',
  properties: {
    id: id(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    /** Place in the order of `GET /events`, which numbers committed events; null before. */
    sequence: p.bigint('number').strictNullable(),
    type: p.text().$type<EventType>(),
    /** Exact bytes that each attempt signs and sends. Text, because jsonb reorders keys. */
    body: p.text(),
    /** Not a reference: an event keeps the id of its post when that is deleted. */
    postId: p.uuid().strictNullable(),
    /** Set for a post's final event, one per run. */
    run: p.integer().strictNullable(),
    /** Set for an event about a channel. */
    channelId: () => p.manyToOne(Channel).mapToPk().name('channel_id').strictNullable(),
    createdAt: createdAt(),
  },
});

class Event extends EventSchema.class {}
EventSchema.setClass(Event);

export const deliveryStatuses = ['pending', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

export const DeliverySchema = defineEntity({
  name: 'Delivery',
  tableName: 'deliveries',
  properties: {
    id: id(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    endpointId: () => p.manyToOne(WebhookEndpoint).mapToPk().name('endpoint_id'),
    eventId: () => p.manyToOne(Event).mapToPk().name('event_id'),
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
class Delivery extends DeliverySchema.class {}
DeliverySchema.setClass(Delivery);

export const DeliveryAttemptSchema = defineEntity({
  name: 'DeliveryAttempt',
  tableName: 'delivery_attempts',
  properties: {
    id: id(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    deliveryId: () => p.manyToOne(Delivery).mapToPk().name('delivery_id'),
    /** From 1. */
    number: p.integer(),
    /** Start of the request. */
    createdAt: instant(),
    durationMs: p.integer(),
    responseStatus: p.integer().strictNullable(),
    /** Error code, see domain/webhook-deliveries.ts. */
    error: p.text().strictNullable(),
  },
});
