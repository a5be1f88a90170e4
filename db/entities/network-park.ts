import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';

export const NetworkParkSchema = defineEntity({
  name: 'NetworkPark',
  tableName: 'network_parks',
  properties: {
    platform: p.text().primary(),
    /** Of the server that set the limit; empty when it holds for the whole network. */
    baseUrl: p.text().primary(),
    /** No post of any workspace is tried there before this instant. */
    parkedUntil: instant(),
  },
});

/** A limit that a network set for all of us and not for one account. One row, shared by all workers. */
export class NetworkPark extends NetworkParkSchema.class {}
NetworkParkSchema.setClass(NetworkPark);
