import { AtpAgent } from '@atproto/api';
import type { ExecutionContext } from 'ava';
import type { mastodon } from 'masto';
import { mastodonAccount } from '../../support/accounts.ts';
import { startGoToSocial } from '../../support/services/gotosocial.ts';
import { startPds } from '../../support/services/pds.ts';
import type { Platform } from '../plan/faults.ts';
import { blueskyLine, mastodonLine } from './create-request.ts';
import type { Cues } from './cues.ts';
import type { Journal } from './journal.ts';
import { networkLine, type NetworkLine } from './network-line.ts';
import type { PlannedFaults } from './planned-faults.ts';

/** The real servers. */
export type Networks = {
  /** Clients that have nothing to do with the product, and read what anybody may read. */
  readonly readers: { readonly mastodon: mastodon.rest.Client; readonly bluesky: AtpAgent };
  openLines(options: LinesOptions): Promise<Lines>;
};

/** The way to each network, and to another server of it, which hangs and breaks now and then. */
export type Lines = Readonly<Record<Platform, NetworkLine>> & {
  readonly frail: Readonly<Record<Platform, NetworkLine>>;
};

export const allLines = ({ frail, ...sound }: Lines): NetworkLine[] => [
  ...Object.values(sound),
  ...Object.values(frail),
];

export type LinesOptions = {
  readonly faults: PlannedFaults;
  readonly journal: Journal;
  readonly cues: Cues;
  readonly killWorker: (name: string) => void;
};

/** Starts GoToSocial and a PDS. @throws Error with the reason when one of them cannot be had. */
export async function startNetworks(t: ExecutionContext): Promise<Networks> {
  for (const start of [startGoToSocial, startPds]) {
    const { env, stop } = await start();
    t.teardown(stop);
    // Test support looks there for them.
    Object.assign(process.env, env);
  }

  const serverUrls = {
    mastodon: process.env['PUNCTUAL_TEST_GOTOSOCIAL_URL'] ?? '',
    bluesky: process.env['PUNCTUAL_TEST_PDS_URL'] ?? '',
  };
  const { client } = await mastodonAccount();
  return {
    readers: { mastodon: client, bluesky: new AtpAgent({ service: serverUrls.bluesky }) },
    openLines: async (shared) => {
      const open = async () => {
        const [mastodon, bluesky] = await Promise.all([
          networkLine(t, { ...mastodonLine, ...shared, serverUrl: serverUrls.mastodon }),
          networkLine(t, { ...blueskyLine, ...shared, serverUrl: serverUrls.bluesky }),
        ]);
        return { mastodon, bluesky };
      };
      return { ...(await open()), frail: await open() };
    },
  };
}
