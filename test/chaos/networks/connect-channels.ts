import type { ExecutionContext } from 'ava';
import { connectChannel } from '../../../services/channels/connect-channel.ts';
import type { Orm } from '../../../db/orm.ts';
import { connectBluesky } from '../../../networks/bluesky/connect.ts';
import { connectMastodon } from '../../../networks/mastodon/connect.ts';
import type { Account } from '../../../networks/network.ts';
import type { Grant } from '../../../networks/oauth/contract.ts';
import { createEgress } from '../../../runtime/egress/create-egress.ts';
import type { Egress } from '../../../runtime/egress/egress.ts';
import { parseAllowList } from '../../../runtime/egress/addresses.ts';
import { createSealer, type Sealer } from '../../../runtime/secrets.ts';
import { blueskyAccount, mastodonAccount, networkPorts } from '../../support/accounts.ts';
import type { SandboxGrant as GivenGrant } from '../../../sandbox/oauth/grant.ts';
import type { Platform, SandboxPlatform } from '../plan/platforms.ts';
import type { ChannelPlan } from '../plan/post-plan.ts';
import type { ChannelLine, Lines, RealServers } from './lines.ts';
import { readBluesky, readMastodon, readPlayed, type Listed } from './read-accounts.ts';
import type { PlayedServer } from './sandbox-server.ts';
import { signIn } from './sign-in.ts';

/** A connected account. */
export type ChaosChannel = {
  readonly id: string;
  readonly platform: Platform;
  /** The account's name in its line's records. */
  readonly account: string;
  /** Revokes the product's access, as the account's owner does. */
  revoke(): Promise<void>;
  /** Connects the account again, as its owner does; null for an account without a grant. */
  readonly reconnect: (() => Promise<void>) | null;
  /** The network's records of grants, oldest first; empty for an account without grants. */
  grants(): Promise<readonly GivenGrant[]>;
  /** Lists all posts of the account, with a client that is independent of the product. */
  read(): Promise<Listed[]>;
};

type Place = {
  readonly orm: Orm;
  readonly workspaceId: string;
  readonly secretKey: string;
  readonly servers: RealServers;
  readonly lines: Lines;
};

/** An account before it is connected to the product. */
type Connected = Omit<ChaosChannel, 'id' | 'platform' | 'reconnect'> & {
  readonly stored: Account;
  readonly grant?: Grant;
  /** Authorizes the product once more, as the owner does. */
  readonly again?: () => Promise<{ readonly account: Account; readonly grant: Grant }>;
};

/** Creates and connects an account for each channel. The product reaches its server through its line. */
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
    const deps = { egress, line: lines.of(number), servers, number, isBlind, orm, sealer };
    const { stored, grant, again, ...account } = await accountOn(platform, deps);
    const connect = (known: Account, how: { readonly grant?: Grant | undefined }) =>
      connectChannel(orm.em.fork(), sealer, workspaceId, platform, known, {
        grant: how.grant ?? null,
      });
    const { id } = await connect(stored, { grant });
    const reconnect =
      again &&
      (async () => {
        const given = await again();
        await connect(given.account, given);
      });
    channels.push({ id, platform, ...account, reconnect: reconnect ?? null });
  }

  return channels;
}

type Deps = {
  readonly egress: Egress;
  readonly line: ChannelLine;
  readonly servers: RealServers;
  readonly number: number;
  readonly isBlind: boolean;
  readonly orm: Orm;
  readonly sealer: Sealer;
};

const accountOn = (platform: Platform, deps: Deps): Promise<Connected> => {
  const { played } = deps.line;
  if (platform === 'mastodon') {
    return onMastodon(deps);
  }

  return played ? onSandbox(platform, played, deps) : onBluesky(deps);
};

const noGrants = { grants: async () => [] };

async function onMastodon({ egress, line, servers }: Deps): Promise<Connected> {
  const { baseUrl, accessToken, revoke } = await mastodonAccount();
  const account = await connectMastodon(egress, { baseUrl, accessToken });
  return {
    stored: { ...account, baseUrl: line.url },
    account: accessToken,
    revoke,
    ...noGrants,
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
      // An issued token stays valid for hours, so the line refuses it.
      line.expire(did);
    },
    ...noGrants,
    read: () => readBluesky(servers.readers.bluesky, did),
  };
}

/** Lifetimes of access tokens in seconds, by turns. An attempt refreshes a token that has less than a minute left. */
const lifetimes = [30, 60, 90] as const;

async function onSandbox(
  platform: SandboxPlatform,
  played: PlayedServer,
  { line, number, isBlind, egress, orm, sealer }: Deps,
): Promise<Connected> {
  await played.order('lifetime', lifetimes[number % lifetimes.length]);
  if (platform === 'linkedin') {
    await played.order('refresh-tokens');
  }

  const again = () => signIn({ platform, url: line.url, isBlind, egress, orm, sealer });
  const { account, grant } = await again();
  return {
    stored: account,
    grant,
    again,
    account: `${platform}-${number}`,
    revoke: () => played.order('revoke'),
    grants: () => played.grants(),
    read: () => readPlayed(played, line.url),
  };
}
