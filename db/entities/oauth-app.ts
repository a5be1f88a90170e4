import { defineEntity, p } from '@mikro-orm/core';
import { createdAt } from './columns.ts';

export const OauthAppSchema = defineEntity({
  name: 'OauthApp',
  tableName: 'oauth_apps',
  properties: {
    platform: p.text().primary(),
    baseUrl: p.text().primary(),
    /** It is registered for this one; another public URL needs another registration. */
    redirectUri: p.text().primary(),
    clientId: p.text(),
    sealedSecret: p.text(),
    createdAt: createdAt(),
  },
});

/** This service as a server registered it when the first account there was connected. Shared by all workspaces. */
export class OauthApp extends OauthAppSchema.class {}
OauthAppSchema.setClass(OauthApp);
