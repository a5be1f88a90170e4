import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';

export const ServerCircuitSchema = defineEntity({
  name: 'ServerCircuit',
  tableName: 'server_circuits',
  properties: {
    platform: p.text().primary(),
    baseUrl: p.text().primary(),
    /** How many tries in a row the server did not answer. */
    failures: p.integer(),
    /** How many pauses were made since it answered. */
    pauses: p.integer(),
    /** By the database's clock. No try begins before it; after it one at a time, until the server answers. */
    openUntil: instant().strictNullable(),
  },
});

/** The circuit breaker of a server: it has a row from the first try that the server did not answer. Unlogged. */
export class ServerCircuit extends ServerCircuitSchema.class {}
ServerCircuitSchema.setClass(ServerCircuit);
