import { defineEntity, p } from '@mikro-orm/core';
import type { EventType } from '../../domain/events.ts';
import { createdAt, id } from './columns.ts';
import { Workspace } from './workspace.ts';

const WebhookEndpointSchema = defineEntity({
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
    createdAt: createdAt(),
  },
});

export class WebhookEndpoint extends WebhookEndpointSchema.class {}
WebhookEndpointSchema.setClass(WebhookEndpoint);
