import { connectChannel } from '../../cli/connect-channel.ts';
import { connectBluesky } from '../../networks/bluesky/connect.ts';
import { connectMastodon } from '../../networks/mastodon/connect.ts';
import type { BlueskyTestAccount } from './bluesky-account.ts';
import type { MastodonTestAccount } from './mastodon-account.ts';
import type { Punctual } from './punctual.ts';

/** Ports of the real servers, for egress. */
export const networkPorts = (): number[] =>
  [process.env['PUNCTUAL_TEST_PDS_URL'], process.env['PUNCTUAL_TEST_GOTOSOCIAL_URL']].flatMap(
    (url) => (url ? [Number(new URL(url).port)] : []),
  );

/** Connects a Mastodon account. @param through Another address of its server, such as a proxy's. */
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

/** Connects a Bluesky account. @param through Another address of its PDS, such as a proxy's. */
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
