import type { Json } from '../../networks/network.ts';

/** The account behind a channel, its secrets still sealed. */
export type SealedAccount = {
  readonly remoteId: string;
  readonly handle: string;
  readonly settings: Json;
  readonly sealedCredentials: string;
  readonly sealedSession: string | null;
};

/** What a statement that has the channel as `c` selects for {@link accountOf}. */
export const accountColumns =
  'c.base_url, c.remote_id, c.handle, c.settings, c.sealed_credentials, c.sealed_session';

export type AccountRow = {
  base_url: string;
  remote_id: string;
  handle: string;
  settings: Json;
  sealed_credentials: string;
  sealed_session: string | null;
};

export const accountOf = (row: AccountRow): SealedAccount => ({
  remoteId: row.remote_id,
  handle: row.handle,
  settings: row.settings,
  sealedCredentials: row.sealed_credentials,
  sealedSession: row.sealed_session,
});
