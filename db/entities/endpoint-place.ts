import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';
import { WebhookEndpoint } from './webhook-endpoint.ts';
import { Workspace } from './workspace.ts';

export const EndpointPlaceSchema = defineEntity({
  name: 'EndpointPlace',
  tableName: 'endpoint_places',
  indexes: [
    {
      name: 'endpoint_places_resting',
      expression:
        'create index "endpoint_places_resting" on "endpoint_places" ("rests_until") where "rests_until" is not null',
    },
  ],
  properties: {
    endpointId: () =>
      p.manyToOne(WebhookEndpoint).mapToPk().name('endpoint_id').deleteRule('cascade').primary(),
    /** From 0. */
    place: p.integer().primary(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id'),
    /** The delivery that holds the slot or held it last. */
    deliveryId: p.uuid().strictNullable(),
    /** By the database's clock. In the past once the request has ended or its worker must be dead. */
    takenUntil: instant().strictNullable(),
    /** By the database's clock. Set after a request without a response: the slot stays unused until then. */
    restsUntil: instant().strictNullable(),
  },
});

/**
 * A slot of an endpoint. Each request holds one, so that an endpoint that hangs does not delay others. Unlogged: taking
 * a slot needs no disk write, and slots are created again after a database crash.
 */
export class EndpointPlace extends EndpointPlaceSchema.class {}
EndpointPlaceSchema.setClass(EndpointPlace);
