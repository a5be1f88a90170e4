import type { ExecutionContext } from 'ava';
import { clockedChannel, type ClaimedPost, type ClockedChannel } from './claimed-posts.ts';
import { freshDatabase } from './database.ts';
import type { FakeNetwork } from './networks.ts';

// Until nothing imports them any more.
export type { ClaimedPost as LedgerPost, ClockedChannel as LedgerWorld };

export const ledgerWorld = async (
  t: ExecutionContext,
  network: FakeNetwork,
  databaseUrl?: string,
): Promise<ClockedChannel> =>
  clockedChannel(t, network, databaseUrl ?? (await freshDatabase(t)).url);
