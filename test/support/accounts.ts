import { AtpAgent } from '@atproto/api';
import { createRestAPIClient, type mastodon } from 'masto';
import { connectChannel } from '../../services/channels/connect-channel.ts';
import { connectBluesky } from '../../networks/bluesky/connect.ts';
import { connectMastodon } from '../../networks/mastodon/connect.ts';
import { env } from './env.ts';
import { takeGoToSocialAccount } from './gotosocial-accounts.ts';
import { mastodonToken } from './mastodon-token.ts';
import { takePdsAccount } from './pds-accounts.ts';
import type { Punctual } from './punctual.ts';

export type BlueskyTestAccount = {
  readonly baseUrl: string;
  readonly did: string;
  readonly handle: string;
  /** The owner signs in with it in a browser. */
  readonly password: string;
  readonly appPassword: string;
  /** An independent client of the same account, for reading back. */
  readonly agent: AtpAgent;
  /** Revokes the app password, as the account's owner does in the app's settings. */
  revokeAppPassword(): Promise<void>;
  /** Suspends the account, as a moderator does. */
  takeDown(): Promise<void>;
};

/** Takes an account with an app password on the running PDS that no other test uses. */
export async function blueskyAccount(): Promise<BlueskyTestAccount> {
  const baseUrl = env('PUNCTUAL_TEST_PDS_URL');
  const { did, handle, password, appPassword, session } = await takePdsAccount();
  const agent = new AtpAgent({ service: baseUrl });
  agent.sessionManager.session = session;
  const { server } = agent.com.atproto;
  return {
    baseUrl,
    did,
    handle,
    password,
    appPassword,
    agent,
    revokeAppPassword: async () => {
      await server.revokeAppPassword({ name: 'punctual' });
    },
    takeDown: () => takeDown(baseUrl, did),
  };
}

async function takeDown(baseUrl: string, did: string): Promise<void> {
  const password = env('PUNCTUAL_TEST_PDS_ADMIN_PASSWORD');
  const admin = new AtpAgent({ service: baseUrl });
  const authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`;
  await admin.com.atproto.admin.updateSubjectStatus(
    {
      subject: { $type: 'com.atproto.admin.defs#repoRef', did },
      takedown: { applied: true, ref: 'test' },
    },
    { headers: { authorization }, encoding: 'application/json' },
  );
}

/** The scopes that an adapter needs. */
export const defaultScopes = 'read:accounts read:statuses write:media write:statuses';

export type MastodonTestAccount = {
  readonly baseUrl: string;
  readonly username: string;
  readonly accessToken: string;
  /** An independent client of the same account, for reading back. */
  readonly client: mastodon.rest.Client;
  /** Revokes the token, as the account's owner does in the server's settings. */
  revoke(): Promise<void>;
};

/** Takes an account on the running GoToSocial that no other test uses, and obtains a token as its owner. */
export async function mastodonAccount(scopes = defaultScopes): Promise<MastodonTestAccount> {
  const baseUrl = env('PUNCTUAL_TEST_GOTOSOCIAL_URL');
  const { username, email, password } = await takeGoToSocialAccount();
  const { accessToken, revoke } = await mastodonToken(baseUrl, { email, password, scopes });
  const client = createRestAPIClient({ url: baseUrl, accessToken });
  return { baseUrl, username, accessToken, client, revoke };
}

/** Ports of the real servers, for egress. */
export const networkPorts = (): number[] =>
  [process.env['PUNCTUAL_TEST_PDS_URL'], process.env['PUNCTUAL_TEST_GOTOSOCIAL_URL']].flatMap(
    (url) => (url ? [Number(new URL(url).port)] : []),
  );

/** Connects a Mastodon account. @param through A different address of its server, such as a proxy's. */
export async function addMastodonChannel(
  { orm, deps }: Punctual,
  workspaceId: string,
  account: MastodonTestAccount,
  through?: string,
): Promise<string> {
  const { baseUrl, accessToken } = account;
  const connected = await connectMastodon(deps.egress, { baseUrl, accessToken });
  const stored = { ...connected, baseUrl: through ?? connected.baseUrl };
  const channel = await connectChannel(orm.em.fork(), deps.sealer, workspaceId, 'mastodon', stored);
  return channel.id;
}

/** Connects a Bluesky account. @param through A different address of its PDS, such as a proxy's. */
export async function addBlueskyChannel(
  { orm, deps }: Punctual,
  workspaceId: string,
  account: BlueskyTestAccount,
  through?: string,
): Promise<string> {
  const { baseUrl, did, appPassword } = account;
  const login = { baseUrl, identifier: did, appPassword };
  const connected = await connectBluesky(deps.egress, login);
  const stored = { ...connected, baseUrl: through ?? connected.baseUrl };
  const channel = await connectChannel(orm.em.fork(), deps.sealer, workspaceId, 'bluesky', stored);
  return channel.id;
}
