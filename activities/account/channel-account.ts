import { sql } from 'kysely';
import type { GrantedChannel } from '../../accounts/grants.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import type { Json } from '../../domain/json-schema.ts';

/** A channel with the access data of its account. */
export type ChannelAccount = {
  readonly workspaceId: string;
  readonly channelId: string;
  readonly platform: string;
  /** URL of the channel's server. */
  readonly baseUrl: string;
  readonly account: SealedAccount;
};

/** The account of a channel. Its secrets are still sealed. */
export type SealedAccount = {
  readonly remoteId: string;
  readonly handle: string;
  readonly settings: Json;
  readonly sealedCredentials: string;
  readonly sealedSession: string | null;
  /** OAuth grant; null for an account that signs in with stored credentials. */
  readonly grant: { readonly sealed: string; readonly refreshedAt: Date | null } | null;
};

/** Columns of a channel `c` and its grant `g`, for {@link channelAccountOf}. */
export const accountColumns = sql`c.remote_id, c.handle, c.settings, c.sealed_credentials, c.sealed_session,
  g.sealed_grant, g.refreshed_at`;

export type AccountRow = {
  readonly remote_id: string;
  readonly handle: string;
  readonly settings: Json;
  readonly sealed_credentials: string;
  readonly sealed_session: string | null;
  readonly sealed_grant: string | null;
  readonly refreshed_at: Date | null;
};

export const channelAccountOf = (row: AccountRow): SealedAccount => ({
  remoteId: row.remote_id,
  handle: row.handle,
  settings: row.settings,
  sealedCredentials: row.sealed_credentials,
  sealedSession: row.sealed_session,
  grant:
    row.sealed_grant === null ? null : { sealed: row.sealed_grant, refreshedAt: row.refreshed_at },
});

export const grantedChannel = ({ account, ...channel }: ChannelAccount): GrantedChannel => ({
  ...channel,
  remoteId: account.remoteId,
});

/**
 * Checks whether the account was connected again after the attempt read its access. If so, the network refused an old
 * access, and the channel has a newer one. Locks the row, so the result is still true when the caller marks the access
 * lost.
 */
export async function isReconnected(
  em: Em,
  {
    workspaceId,
    channelId,
    account,
  }: Pick<ChannelAccount, 'workspaceId' | 'channelId' | 'account'>,
): Promise<boolean> {
  const [channel] = await query(
    em,
    sql<{ is_reconnected: boolean }>`
      select sealed_credentials <> ${account.sealedCredentials} as is_reconnected from channels
      where id = ${channelId} and workspace_id = ${workspaceId} for no key update`,
  );
  return channel?.is_reconnected ?? false;
}
