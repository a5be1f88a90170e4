import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';

export const ServerCircuitSchema = defineEntity({
  name: 'ServerCircuit',
  tableName: 'server_circuits',
  properties: {
    platform: p.text().primary(),
    baseUrl: p.text().primary(),
    /** Consecutive attempts that the server did not answer. */
    failures: p.integer(),
    /** Number of pauses since its last answer. */
    pauses: p.integer(),
    /** By the database's clock. No attempt starts before it; after it one at a time, until the server answers. */
    openUntil: instant().strictNullable(),
  },
});

/** Circuit breaker of a server. The row exists from the first attempt that the server did not answer. Unlogged. */
export class ServerCircuit extends ServerCircuitSchema.class {}
ServerCircuitSchema.setClass(ServerCircuit);
