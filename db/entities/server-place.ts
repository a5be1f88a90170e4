import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';

export const ServerPlaceSchema = defineEntity({
  name: 'ServerPlace',
  tableName: 'server_places',
  indexes: [
    {
      name: 'server_places_workspace',
      expression:
        'create index "server_places_workspace" on "server_places" ("workspace_id", "platform") where "post_channel_id" is not null',
    },
  ],
  properties: {
    platform: p.text().primary(),
    baseUrl: p.text().primary(),
    /** From 0. */
    place: p.integer().primary(),
    /** Workspace of the attempt that holds the slot or held it last. */
    workspaceId: p.uuid().strictNullable(),
    /** The post's channel whose attempt holds the slot. */
    postChannelId: p.uuid().strictNullable(),
    takenAt: instant().strictNullable(),
    /** By the database's clock. In the past if its worker must be dead: a running attempt extends it. */
    takenUntil: instant().strictNullable(),
    /** Last answer of the server to an attempt with this slot. */
    answeredAt: instant().strictNullable(),
  },
});

/**
 * A slot of a server. Each attempt holds one, so that a server that hangs does not delay others. Unlogged: taking a
 * slot needs no disk write, and slots are created again after a database crash.
 */
export class ServerPlace extends ServerPlaceSchema.class {}
ServerPlaceSchema.setClass(ServerPlace);
