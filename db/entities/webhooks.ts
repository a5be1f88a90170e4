import { defineEntity, p } from '@mikro-orm/core';
import type { DisabledReason } from '../../domain/webhook-deliveries.ts';
import type { Subscription } from '../../domain/statuses.ts';
import { createdAt, id, instant } from './columns.ts';
import { Workspace } from './workspaces.ts';

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

export const deliveryStatuses = ['pending', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];
