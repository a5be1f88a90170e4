import { address } from '../../runtime/config/settings.ts';
import { pathOn, type NetworkEntry, type Connector, type PostPages } from '../network-entry.ts';
import type { OauthEntry } from '../oauth/contract.ts';
import { checkAccount, connectBluesky, readLimits } from './connect.ts';
import type { Directories } from './oauth/client.ts';
import { metadataPath } from './oauth/grant.ts';
import { blueskySettings, rules } from './rules.ts';

export const bluesky: NetworkEntry = (env, problems) => {
  const usualResolver = 'https://public.api.bsky.app';
  const directories: Directories = {
    plcUrl: address(env, 'PUNCTUAL_BLUESKY_PLC_URL', 'https://plc.directory', problems),
    resolverUrl: address(env, 'PUNCTUAL_BLUESKY_RESOLVER_URL', usualResolver, problems),
  };
  return {
    rules,
    adapter: async () => (await import('./adapter.ts')).blueskyNetwork,
    oauth: oauthEntry(directories),
    limits: readLimits,
    // Links use the DID, because a handle can get another owner.
    profileUrl: ({ remoteId, settings }) =>
      `${blueskySettings(settings).webUrl}/profile/${remoteId}`,
    postPages,
    check: checkAccount,
    connector: connectorWith(directories),
  };
};

const postPath = /^\/profile\/(?<actor>[^\/]+)\/post\/(?<rkey>[\w.~:\-]{1,512})\/?$/v;

const postPages: PostPages = {
  idAt: ({ remoteId, handle, settings }, url) => {
    const path = pathOn(blueskySettings(settings).webUrl, url) ?? '';
    const { actor = '', rkey } = postPath.exec(path)?.groups ?? {};
    // A server that is not trusted follows the handle in parentheses.
    const names = [remoteId, handle.replace(/^@/v, '').split(' ')[0]?.toLowerCase()];
    const isOwn = names.includes(actor.replaceAll(/%3a/giv, ':').toLowerCase());
    return rkey !== undefined && isOwn
      ? { id: `at://${remoteId}/app.bsky.feed.post/${rkey}` }
      : null;
  },
  example: ({ remoteId, settings }) =>
    `${blueskySettings(settings).webUrl}/profile/${remoteId}/post/{id}`,
};

const connectorWith = ({ plcUrl, resolverUrl }: Directories): Connector => ({
  summary: 'Connects a Bluesky account with an app password.',
  options: {
    url: { placeholder: 'https://bsky.social', required: true },
    handle: { placeholder: 'me.bsky.social', required: true },
    'web-url': { placeholder: 'https://bsky.app', required: false },
  },
  secret: 'app-password',
  connect: (http, values) => {
    const { url: baseUrl = '', handle: identifier = '' } = values;
    const { 'app-password': appPassword = '', 'web-url': webUrl } = values;
    const login = { baseUrl, identifier, appPassword, plcUrl, resolverUrl };
    return connectBluesky(http, webUrl ? { ...login, webUrl } : login);
  },
  sandbox: (url) => ({
    url,
    handle: 'demo.sandbox.test',
    'app-password': 'demo',
    'web-url': `${url}/bluesky`,
  }),
});

const oauthEntry = (directories: Directories): OauthEntry => ({
  // Servers identify this service by a client metadata document that it serves, so no registration is needed.
  missing: [],
  fields: {
    handle: {
      label: 'Your handle, or the address of your server',
      placeholder: 'me.bsky.social',
      required: true,
    },
  },
  takesSecret: true,
  clientMetadata: {
    path: metadataPath,
    make: async ({ publicUrl, redirectUri, derive }) => {
      const { oauthClient } = await import('./oauth/client.ts');
      const client = oauthClient(publicUrl, redirectUri, derive);
      return client?.key ? client.metadata : null;
    },
  },
  load: async () => (await import('./oauth/oauth.ts')).blueskyOauth(directories),
});
