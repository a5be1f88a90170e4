import { defineEntity, p } from '@mikro-orm/core';
import type { DisabledReason } from '../../domain/webhook-deliveries.ts';
import type { EventType } from '../../domain/post-status.ts';
import { createdAt, id, instant } from './columns.ts';
import { Workspace } from './workspace.ts';

export const WebhookEndpointSchema = defineEntity({
  name: 'WebhookEndpoint',
  tableName: 'webhook_endpoints',
  properties: {
    id: id(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id').index(),
    url: p.text(),
    events: p.json<readonly EventType[]>(),
    description: p.text().strictNullable(),
    sealedSecret: p.text(),
    /** `whsec_…` and the last four characters. */
    secretHint: p.text(),
    /** While a secret is being replaced: the new one signs beside the old one until `rotatesAt`, then alone. */
    nextSealedSecret: p.text().strictNullable(),
    nextSecretHint: p.text().strictNullable(),
    rotatesAt: instant().strictNullable(),
    /** The first failure after which nothing was taken; null while the newest request was. */
    failingSince: instant().strictNullable(),
    /** From then on nothing is sent to it. What is missed counts as failed, so that it can be replayed. */
    disabledAt: instant().strictNullable(),
    disabledReason: p.text().$type<DisabledReason>().strictNullable(),
    createdAt: createdAt(),
  },
});

export class WebhookEndpoint extends WebhookEndpointSchema.class {}
WebhookEndpointSchema.setClass(WebhookEndpoint);
