import { sql } from 'kysely';
import type { GrantedChannel } from '../../accounts/grants.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import type { Json } from '../../domain/json-schema.ts';

/** A channel, and what it is opened with. */
export type ChannelAccount = {
  readonly workspaceId: string;
  readonly channelId: string;
  readonly platform: string;
  /** Of the channel's server. */
  readonly baseUrl: string;
  readonly account: SealedAccount;
};

/** The account behind a channel, its secrets still sealed. */
export type SealedAccount = {
  readonly remoteId: string;
  readonly handle: string;
  readonly settings: Json;
  readonly sealedCredentials: string;
  readonly sealedSession: string | null;
  /** What the network handed out for it in a browser; null where the credentials open it. */
  readonly grant: { readonly sealed: string; readonly refreshedAt: Date | null } | null;
};

/** The channel, for whoever renews its grant. */
export const grantedChannel = ({ account, ...channel }: ChannelAccount): GrantedChannel => ({
  ...channel,
  remoteId: account.remoteId,
});

/**
 * Whether the account was connected again since the try read its access: then what the network refused is not what the
 * channel has. Its row stays locked, so that this is still so when the access is marked lost.
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
