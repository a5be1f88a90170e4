import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';

export const NetworkParkSchema = defineEntity({
  name: 'NetworkPark',
  tableName: 'network_parks',
  properties: {
    platform: p.text().primary(),
    /** Server that set the limit; empty for the whole network. */
    baseUrl: p.text().primary(),
    /** End of the limit. No attempt of any workspace starts there before it. */
    parkedUntil: instant(),
  },
});

/** A rate limit for this whole service, not for one account. Shared by all workers. */
export class NetworkPark extends NetworkParkSchema.class {}
NetworkParkSchema.setClass(NetworkPark);
