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
    /** Whose try holds it; of a free one whose held it last. */
    workspaceId: p.uuid().strictNullable(),
    /** The post's channel whose try holds it. */
    postChannelId: p.uuid().strictNullable(),
    takenAt: instant().strictNullable(),
    /** By the database's clock. Past when its worker must be dead: a try that lives puts it off. */
    takenUntil: instant().strictNullable(),
    /** When the server last answered a try that held it. */
    answeredAt: instant().strictNullable(),
  },
});

/**
 * A try holds one of the places of its server, so that a server which hangs holds up no other. Unlogged: taking one
 * waits for no disk, and after a crash of the database they are made anew.
 */
export class ServerPlace extends ServerPlaceSchema.class {}
ServerPlaceSchema.setClass(ServerPlace);
