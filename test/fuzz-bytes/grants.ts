import * as fc from 'fast-check';
import { AppError } from '../../domain/errors.ts';
import { NetworkError } from '../../networks/network.ts';
import {
  OauthError,
  type Grant,
  type Oauth,
  type OauthContext,
} from '../../networks/oauth/contract.ts';
import { openNetworks, platforms } from '../../networks/registry.ts';
import { createSealer } from '../../runtime/secrets.ts';
import { beginning, registeredApps, state } from '../networks/oauth/context.ts';
import { answering, answersNear } from './made-up-answers.ts';
import type { Property } from './property.ts';

const server = 'http://127.0.0.1:9'; // No connection is made: the answers are generated.

const publicUrl = 'https://punctual.example';
const redirectUri = `${publicUrl}/connect/callback/key`;

const answers = [
  {
    access_token: 'a',
    token_type: 'bearer',
    expires_in: 7200,
    refresh_token: 'r',
    refresh_token_expires_in: 100,
    scope: 'read write',
    sub: 'did:plc:abc',
  },
  { error: 'invalid_grant', error_description: 'Token has been expired or revoked.' },
  { client_id: 'c', client_secret: 's', id: '1' },
  { data: { id: '42', username: 'me' } },
  { id: '1', username: 'me', acct: 'me', url: 'https://a.example/@me' },
  { sub: '1', name: 'Me', elements: [] },
  { items: [{ id: 'UCabc', snippet: { title: 'Me' }, contentDetails: {} }] },
  { request_uri: 'urn:ietf:params:oauth:request_uri:1', expires_in: 60 },
  { resource: server, authorization_servers: [server] },
  { issuer: server, authorization_endpoint: `${server}/authorize`, token_endpoint: `${server}/t` },
];

const before: Grant = {
  accessToken: 'old-access',
  accessEndsAtMs: 1,
  refreshToken: 'old-refresh',
  endsAtMs: null,
};

/** For any answer of a token endpoint, the result is a usable grant or an expected error. */
export const grantProperties = (): Promise<Property[]> => {
  const { oauth } = openNetworks({});
  return Promise.all(
    platforms.map(async (platform) => {
      const flow = await oauth[platform]?.load();
      if (!flow) {
        throw new Error(`${platform} has no OAuth flow.`);
      }

      return {
        name: `grants of ${platform}`,
        check: fc.asyncProperty(answersNear(answers), (made) => connectAndRefresh(flow, made)),
      };
    }),
  );
};

async function connectAndRefresh(oauth: Oauth, made: Parameters<typeof answering>[0]) {
  const context: OauthContext = {
    http: answering(made),
    publicUrl,
    sandboxUrl: server,
    apps: registeredApps(),
    derive: createSealer('a1'.repeat(32)).derive,
    now: () => new Date(),
  };
  await orTold(async () => {
    const { url, kept } = await oauth.begin({
      ...beginning(context, { url: server }),
      redirectUriFor: () => redirectUri,
    });
    if (!/^https?:\/\//v.test(url)) {
      throw new Error(`The authorization URL is not http(s): ${url}`);
    }

    const answer = new URLSearchParams({ state, code: 'code', iss: server });
    const { grant, accounts } = await oauth.finish({ ...context, answer, redirectUri, kept });
    assertGrant(grant);
    if (accounts.length === 0 || accounts.some(({ remoteId }) => remoteId === '')) {
      throw new Error(`It opens ${JSON.stringify(accounts)}.`);
    }
  });
  await orTold(async () => {
    const refresh = { ...context, baseUrl: server, remoteId: '1', grant: before };
    assertGrant(await oauth.refresh(refresh));
  });
}

async function orTold(step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    const isTold = [OauthError, NetworkError, AppError].some((kind) => error instanceof kind);
    if (!isTold) {
      throw error;
    }
  }
}

function assertGrant({ accessToken, accessEndsAtMs, refreshToken, endsAtMs }: Grant): void {
  const isHeader = (value: string | null) => value === null || /^[\x21-\x7e]+$/v.test(value);
  const isDate = (atMs: number | null) => atMs === null || !Number.isNaN(new Date(atMs).getTime());
  if (![accessToken, refreshToken].every(isHeader) || ![accessEndsAtMs, endsAtMs].every(isDate)) {
    throw new Error(
      `The grant is not usable: ${JSON.stringify({ accessToken, accessEndsAtMs, refreshToken, endsAtMs })}`,
    );
  }
}
