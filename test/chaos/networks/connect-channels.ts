import type { ExecutionContext } from 'ava';
import { connectChannel } from '../../../accounts/connect-channel.ts';
import type { Orm } from '../../../db/orm.ts';
import { connectBluesky } from '../../../networks/bluesky/connect.ts';
import { connectMastodon } from '../../../networks/mastodon/connect.ts';
import type { Account } from '../../../networks/network.ts';
import { openNetworks } from '../../../networks/registry.ts';
import { createEgress } from '../../../runtime/egress/create-egress.ts';
import type { Egress } from '../../../runtime/egress/egress.ts';
import { parseAllowList } from '../../../runtime/egress/operator-lists.ts';
import { createSealer } from '../../../runtime/secrets.ts';
import { account as linkedinAccount } from '../../../sandbox/linkedin/account.ts';
import { blueskyAccount, mastodonAccount, networkPorts } from '../../support/accounts.ts';
import type { Platform } from '../plan/platforms.ts';
import type { ChannelPlan } from '../plan/post-plan.ts';
import type { ChannelLine, Lines, RealServers } from './lines.ts';
import { readBluesky, readMastodon, readPlayed, type Listed } from './read-accounts.ts';

/** A connected account. */
export type ChaosChannel = {
  readonly id: string;
  readonly platform: Platform;
  /** How the line before the network names the account. */
  readonly account: string;
  /** Ends the product's access, as the account's owner does. */
  revoke(): Promise<void>;
  /** All that is on the account, by a client that has nothing to do with the product. */
  read(): Promise<Listed[]>;
};

type Place = {
  readonly orm: Orm;
  readonly workspaceId: string;
  readonly secretKey: string;
  readonly servers: RealServers;
  readonly lines: Lines;
};

/** An account that is the run's, before the product knows it. */
type Connected = Omit<ChaosChannel, 'id' | 'platform'> & { readonly stored: Account };

/** Makes an account for each channel and connects it. The product reaches its server by way of its line. */
export async function connectChannels(
  t: ExecutionContext,
  { orm, workspaceId, secretKey, servers, lines }: Place,
  plans: readonly ChannelPlan[],
): Promise<ChaosChannel[]> {
  const ports = [...networkPorts(), ...lines.all.map(({ port }) => port)];
  const allow = ports.map((port) => `127.0.0.1/32:${port}`);
  const egress = createEgress({ allow: parseAllowList(allow.join(',')) });
  t.teardown(() => egress.close());
  const sealer = createSealer(secretKey);
  const channels: ChaosChannel[] = [];
  for (const [number, { platform, isBlind }] of plans.entries()) {
    const deps = { egress, line: lines.of(number), servers, number, isBlind };
    const { stored, ...account } = await accountOn(platform, deps);
    const { id } = await connectChannel(orm.em.fork(), sealer, workspaceId, platform, stored);
    channels.push({ id, platform, ...account });
  }

  return channels;
}

type Deps = {
  readonly egress: Egress;
  readonly line: ChannelLine;
  readonly servers: RealServers;
  readonly number: number;
  readonly isBlind: boolean;
};

const accountOn = (platform: Platform, deps: Deps): Promise<Connected> => {
  switch (platform) {
    case 'mastodon':
      return onMastodon(deps);
    case 'bluesky':
      return onBluesky(deps);
    default:
      return onSandbox(platform, deps);
  }
};

async function onMastodon({ egress, line, servers }: Deps): Promise<Connected> {
  const { baseUrl, accessToken, revoke } = await mastodonAccount();
  const account = await connectMastodon(egress, { baseUrl, accessToken });
  return {
    stored: { ...account, baseUrl: line.url },
    account: accessToken,
    revoke,
    read: () => readMastodon(servers.readers.mastodon, account.remoteId),
  };
}

async function onBluesky({ egress, line, servers }: Deps): Promise<Connected> {
  const { baseUrl, did, appPassword, revokeAppPassword } = await blueskyAccount();
  const account = await connectBluesky(egress, { baseUrl, identifier: did, appPassword });
  return {
    stored: { ...account, baseUrl: line.url },
    account: did,
    revoke: async () => {
      await revokeAppPassword();
      // A token that was given out before is good for hours; the line lets it end now.
      line.expire(did);
    },
    read: () => readBluesky(servers.readers.bluesky, did),
  };
}

const { selfServeToken } = linkedinAccount;

/** @throws Error for a network that the sandbox does not play, or that the product cannot connect. */
async function onSandbox(
  platform: Platform,
  { egress, line, number, isBlind }: Deps,
): Promise<Connected> {
  const connector = openNetworks({}).connectors[platform];
  const { played } = line;
  if (!connector || !played) {
    throw new Error(`No account of ${platform} can be had in the sandbox.`);
  }

  const token = isBlind ? { token: selfServeToken } : {};
  return {
    stored: await connector.connect(egress, { ...connector.sandbox(line.url), ...token }),
    account: `${platform}-${number}`,
    revoke: () => played.order('revoke'),
    read: () => readPlayed(played, line.url),
  };
}
