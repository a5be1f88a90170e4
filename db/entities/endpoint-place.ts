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
    /** Whose request holds it, or held it last. */
    deliveryId: p.uuid().strictNullable(),
    /** By the database's clock. Past when the request has ended, or its worker must be dead. */
    takenUntil: instant().strictNullable(),
    /** By the database's clock. Set when a request got no answer in its time: until then the place is not taken. */
    restsUntil: instant().strictNullable(),
  },
});

/**
 * A request to an endpoint holds one of its few places, so that a receiver that hangs holds up nobody else. Unlogged:
 * taking one waits for no disk, and after a crash of the database they are made anew.
 */
export class EndpointPlace extends EndpointPlaceSchema.class {}
EndpointPlaceSchema.setClass(EndpointPlace);
