import type { ExecutionContext } from 'ava';
import { connectChannel } from '../../../services/channels/connect-channel.ts';
import type { Orm } from '../../../db/orm.ts';
import type { Account } from '../../../networks/network.ts';
import type { Grant } from '../../../networks/oauth/contract.ts';
import { createEgress } from '../../../runtime/egress/create-egress.ts';
import type { Egress } from '../../../runtime/egress/egress.ts';
import { parseAllowList } from '../../../runtime/egress/addresses.ts';
import { createSealer, type Sealer } from '../../../runtime/secrets.ts';
import { networkOf } from '../../../sandbox/registry.ts';
import { networkPorts } from '../../support/accounts.ts';
import type { SandboxGrant as GivenGrant } from '../../../sandbox/oauth/grant.ts';
import type { Platform } from '../plan/platforms.ts';
import type { ChannelPlan } from '../plan/post-plan.ts';
import type { ChannelLine, Lines } from './lines.ts';
import { readPlayed, type Listed } from './read-accounts.ts';
import type { RealNetworks } from './real-networks.ts';
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
  readonly networks: RealNetworks;
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
  { orm, workspaceId, secretKey, networks, lines }: Place,
  plans: readonly ChannelPlan[],
): Promise<ChaosChannel[]> {
  const ports = [...networkPorts(), ...lines.all.map(({ port }) => port)];
  const allow = ports.map((port) => `127.0.0.1/32:${port}`);
  const egress = createEgress({ allow: parseAllowList(allow.join(',')) });
  t.teardown(() => egress.close());
  const sealer = createSealer(secretKey);
  const channels: ChaosChannel[] = [];
  for (const [number, { platform, isBlind }] of plans.entries()) {
    const deps = { egress, line: lines.of(number), networks, number, isBlind, orm, sealer };
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
  readonly networks: RealNetworks;
  readonly number: number;
  readonly isBlind: boolean;
  readonly orm: Orm;
  readonly sealer: Sealer;
};

async function accountOn(platform: Platform, deps: Deps): Promise<Connected> {
  const { egress, line, networks } = deps;
  if (line.played) {
    return onSandbox(platform, line.played, deps);
  }

  const { stored, ...account } = await networks.of(platform).create(egress, line);
  return { ...account, stored: { ...stored, baseUrl: line.url }, grants: async () => [] };
}

/** Lifetimes of access tokens in seconds, by turns. An attempt refreshes a token that has less than a minute left. */
const lifetimes = [30, 60, 90] as const;

async function onSandbox(
  platform: Platform,
  played: PlayedServer,
  { line, number, isBlind, egress, orm, sealer }: Deps,
): Promise<Connected> {
  await played.order('lifetime', lifetimes[number % lifetimes.length]);
  if (networkOf({ network: platform }).traits.includes('refreshes_if_told')) {
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
