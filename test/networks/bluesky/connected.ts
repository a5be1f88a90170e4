import type { ExecutionContext } from 'ava';
import { connectBluesky } from '../../../networks/bluesky/connect.ts';
import type { Account } from '../../../networks/network.ts';
import { blueskyAccount, type BlueskyTestAccount } from '../../support/accounts.ts';
import { egressTo } from '../connection.ts';

/** A fresh account, connected with its app password. */
export async function connected(
  t: ExecutionContext,
): Promise<{ person: BlueskyTestAccount; account: Account }> {
  const person = await blueskyAccount();
  const { baseUrl, handle: identifier, appPassword } = person;
  const login = { baseUrl, identifier, appPassword };
  return { person, account: await connectBluesky(egressTo(t, baseUrl), login) };
}
