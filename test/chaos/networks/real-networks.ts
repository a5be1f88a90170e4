import { AtpAgent } from '@atproto/api';
import type { ExecutionContext } from 'ava';
import { connectBluesky } from '../../../networks/bluesky/connect.ts';
import { connectMastodon } from '../../../networks/mastodon/connect.ts';
import type { Account } from '../../../networks/network.ts';
import type { Egress } from '../../../runtime/egress/egress.ts';
import { blueskyAccount, mastodonAccount } from '../../support/accounts.ts';
import { startGoToSocial } from '../../support/services/gotosocial.ts';
import { startPds } from '../../support/services/pds.ts';
import type { Platform } from '../plan/platforms.ts';
import type { NetworkLine } from './network-line.ts';
import { readBluesky, readMastodon, type Listed } from './read-accounts.ts';

/** A network with a real server, which has all of its accounts. */
export type RealNetwork = {
  /** The server's. */
  readonly url: string;
  /** Creates an account, with the credentials of the product. */
  create(egress: Egress, line: NetworkLine): Promise<RealAccount>;
};

type RealAccount = {
  /** As the server describes it. */
  readonly stored: Account;
  /** The account's name in its line's records. */
  readonly account: string;
  /** Revokes the product's access, as the account's owner does. */
  revoke(): Promise<void>;
  /** Lists all posts of the account, with a client that is independent of the product. */
  read(): Promise<Listed[]>;
};

export type RealNetworks = {
  /** @throws Error for a network without a server here. */
  of(platform: Platform): RealNetwork;
};

/** Starts GoToSocial and a PDS. @throws Error with the reason when one of them cannot start. */
export async function startRealNetworks(t: ExecutionContext): Promise<RealNetworks> {
  for (const start of [startGoToSocial, startPds]) {
    const { env, stop } = await start();
    t.teardown(stop);
    // Test support reads the addresses from the environment.
    Object.assign(process.env, env);
  }

  const byPlatform = new Map<string, RealNetwork>([
    ['mastodon', await gotosocial()],
    ['bluesky', pds()],
  ]);
  return {
    of: (platform) => {
      const network = byPlatform.get(platform);
      if (!network) {
        throw new Error(`test/chaos/networks/real-networks.ts has no server for ${platform}.`);
      }
      return network;
    },
  };
}

async function gotosocial(): Promise<RealNetwork> {
  const { client } = await mastodonAccount();
  return {
    url: process.env['PUNCTUAL_TEST_GOTOSOCIAL_URL'] ?? '',
    create: async (egress) => {
      const { baseUrl, accessToken, revoke } = await mastodonAccount();
      const stored = await connectMastodon(egress, { baseUrl, accessToken });
      const read = () => readMastodon(client, stored.remoteId);
      return { stored, account: accessToken, revoke, read };
    },
  };
}

function pds(): RealNetwork {
  const url = process.env['PUNCTUAL_TEST_PDS_URL'] ?? '';
  const reader = new AtpAgent({ service: url });
  return {
    url,
    create: async (egress, line) => {
      const { baseUrl, did, appPassword, revokeAppPassword } = await blueskyAccount();
      return {
        stored: await connectBluesky(egress, { baseUrl, identifier: did, appPassword }),
        account: did,
        revoke: async () => {
          await revokeAppPassword();
          // An issued token stays valid for hours, so the line refuses it.
          line.expire(did);
        },
        read: () => readBluesky(reader, did),
      };
    },
  };
}
