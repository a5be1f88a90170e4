import { defineEntity, p } from '@mikro-orm/core';
import { createdAt } from './columns.ts';

export const OauthAppSchema = defineEntity({
  name: 'OauthApp',
  tableName: 'oauth_apps',
  properties: {
    platform: p.text().primary(),
    baseUrl: p.text().primary(),
    /** Part of the registration; another public URL needs another registration. */
    redirectUri: p.text().primary(),
    clientId: p.text(),
    sealedSecret: p.text(),
    createdAt: createdAt(),
  },
});

/**
 * Registration of this service as an OAuth client at a server, made when its first account is connected. Shared by all
 * workspaces.
 */
export class OauthApp extends OauthAppSchema.class {}
OauthAppSchema.setClass(OauthApp);
