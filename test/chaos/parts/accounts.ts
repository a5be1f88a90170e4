import type { ExecutionContext } from 'ava';
import { connectChannel } from '../../../cli/channels.ts';
import type { Orm } from '../../../db/orm.ts';
import { connectBluesky } from '../../../networks/bluesky/connect.ts';
import { connectMastodon } from '../../../networks/mastodon/connect.ts';
import { createEgress } from '../../../runtime/egress/create-egress.ts';
import type { Egress } from '../../../runtime/egress/egress.ts';
import { parseAllowList } from '../../../runtime/egress/operator-lists.ts';
import { createSealer, type Sealer } from '../../../runtime/secrets.ts';
import { blueskyAccount, networkPorts, mastodonAccount } from '../../support/accounts.ts';
import type { Platform } from '../plan/faults.ts';
import type { ChannelPlan } from '../plan/post-plan.ts';
import type { NetworkLine } from './network-line.ts';
import type { Lines } from './networks.ts';

/** A connected account on a real server. */
export type ChaosChannel = {
  readonly id: string;
  readonly platform: Platform;
  /** Of the account: a Mastodon account's id, a DID. */
  readonly remoteId: string;
  /** How the line before the network names it. */
  readonly account: string;
  /** Ends the product's access, as the account's owner does. */
  revoke(): Promise<void>;
};

type Place = {
  readonly orm: Orm;
  readonly workspaceId: string;
  readonly lines: Lines;
};
type ConnectDeps = Omit<Place, 'lines'> & {
  readonly sealer: Sealer;
  readonly egress: Egress;
  /** By which the product reaches the account's server. */
  readonly line: NetworkLine;
};

/** Makes an account for each channel and connects it. The product reaches its server by way of the line. */
export async function connectAccounts(
  t: ExecutionContext,
  { secretKey, lines, ...place }: Place & { readonly secretKey: string },
  plans: readonly ChannelPlan[],
): Promise<ChaosChannel[]> {
  const allow = networkPorts().map((port) => `127.0.0.1/32:${port}`);
  const egress = createEgress({ allow: parseAllowList(allow.join(',')) });
  t.teardown(() => egress.close());
  const deps = { ...place, sealer: createSealer(secretKey), egress };
  const channels: ChaosChannel[] = [];
  for (const { platform, isFrail } of plans) {
    const connect = platform === 'mastodon' ? connectOnMastodon : connectOnBluesky;
    const line = (isFrail ? lines.frail : lines)[platform];
    channels.push(await connect({ ...deps, line }));
  }

  return channels;
}

async function connectOnMastodon(deps: ConnectDeps): Promise<ChaosChannel> {
  const { orm, sealer, egress, workspaceId, line } = deps;
  const { baseUrl, accessToken, revoke } = await mastodonAccount();
  const account = await connectMastodon(egress, { baseUrl, accessToken });
  const through = { ...account, baseUrl: line.url };
  const { id } = await connectChannel(orm.em.fork(), sealer, workspaceId, 'mastodon', through);
  return { id, platform: 'mastodon', remoteId: account.remoteId, account: accessToken, revoke };
}

async function connectOnBluesky(deps: ConnectDeps): Promise<ChaosChannel> {
  const { orm, sealer, egress, workspaceId, line } = deps;
  const { baseUrl, did, appPassword, revokeAppPassword } = await blueskyAccount();
  const account = await connectBluesky(egress, { baseUrl, identifier: did, appPassword });
  const through = { ...account, baseUrl: line.url };
  const { id } = await connectChannel(orm.em.fork(), sealer, workspaceId, 'bluesky', through);
  return {
    id,
    platform: 'bluesky',
    remoteId: did,
    account: did,
    revoke: async () => {
      await revokeAppPassword();
      // A token that was given out before is good for hours; the line lets it end now.
      line.expire(did);
    },
  };
}
