import { LockMode } from '@mikro-orm/core';
import { Channel } from '../../db/entities/channels.ts';
import { Workspace } from '../../db/entities/workspaces.ts';
import { newId } from '../../db/new-id.ts';
import type { Em } from '../../db/orm.ts';
import { recordEvent } from '../../db/record-event.ts';
import { lockWorkspace } from '../../db/repositories/workspaces.ts';
import { credentialsPurpose, sessionPurpose } from '../../db/sealing-purposes.ts';
import { quotaExceeded } from '../../domain/quotas.ts';
import type { Account } from '../../networks/network.ts';
import type { Grant } from '../../networks/oauth/contract.ts';
import type { Sealer } from '../../runtime/secrets.ts';
import { storeGrant } from './grants.ts';

type ConnectOptions = {
  /** The OAuth grant; null or omitted when the account's own credentials open it. */
  readonly grant?: Grant | null;
  /** The channel to keep when a proved account has moved to another server, as on Bluesky. */
  readonly channelId?: string | null;
  /** The channel limit from the settings; unlimited when omitted. */
  readonly most?: number;
};

/**
 * Stores a connected account with sealed secrets. Connecting a known account again keeps its channel, so that waiting
 * posts use the new access, also after a disconnection.
 */
export async function connectChannel(
  em: Em,
  sealer: Sealer,
  workspaceId: string,
  platform: string,
  account: Account,
  { grant = null, channelId = null, most = Number.POSITIVE_INFINITY }: ConnectOptions = {},
): Promise<Channel> {
  const { baseUrl, remoteId, handle, displayName, settings, isProved } = cleanAccount(account);
  return em.transactional(async (tx) => {
    // Locked against a concurrent loss of access, which must not overwrite the new state.
    const own = { workspaceId, platform, remoteId };
    const find = (where: object) => tx.findOne(Channel, { ...own, ...where }, connectedFirst);
    await lockWorkspace(tx, workspaceId); // Serialises new and returning accounts, so that the quota holds.
    const here = await find({ baseUrl });
    const moves = isProved && here?.disconnectedAt !== null;
    const known = (moves && (await find(channelId === null ? {} : { id: channelId }))) || here;
    if (here && here !== known) {
      here.baseUrl += `#${here.id}`; // The account's server is unique among its channels.
      await tx.flush();
    }

    if (!known || known.disconnectedAt) {
      await assertChannelQuota(tx, workspaceId, most);
    }

    const id = known?.id ?? newId();
    const fresh = {
      baseUrl,
      handle,
      displayName,
      settings,
      sealedCredentials: sealer.seal(JSON.stringify(account.credentials), credentialsPurpose(id)),
      sealedSession:
        account.session === null
          ? null
          : sealer.seal(JSON.stringify(account.session), sessionPurpose(id)),
      state: 'connected' as const,
      error: null,
      parkedUntil: null,
      disconnectedAt: null,
      checkedAt: null,
      checkAnswer: null,
    };
    const channel = known
      ? tx.assign(known, fresh)
      : tx.create(Channel, { id, givenName: null, ...own, ...fresh });
    await tx.flush();
    await storeGrant(tx, sealer, { workspaceId, channelId: id }, grant);
    return channel;
  });
}

/** Tells subscribers of a connection that a person made. Call it in the transaction of `connectChannel`. */
export const recordConnected = (
  em: Em,
  { workspaceId, id, platform, handle }: Channel,
): Promise<unknown> =>
  recordEvent(em, {
    workspaceId,
    channelId: id,
    type: 'channel.connected',
    data: { channel: { id, platform, handle } },
    byOutbox: true,
  });

const connectedFirst = {
  lockMode: LockMode.PESSIMISTIC_WRITE,
  orderBy: { disconnectedAt: 'desc nulls first' },
} as const;

export async function assertChannelQuota(em: Em, workspaceId: string, most: number): Promise<void> {
  const { quotas } = await em.findOneOrFail(Workspace, { id: workspaceId });
  const limit = quotas.channels ?? most;
  const used = await em.count(Channel, { workspaceId, disconnectedAt: null });
  if (used >= limit) {
    throw quotaExceeded('channels', limit, used);
  }
}

/** Limit of a display name, in characters. No network allows longer ones, but a self-hosted server may. */
const mostCharacters = 200;

export const cleanAccount = (account: Account) => ({
  ...account,
  handle: onOneLine(account.handle) || account.remoteId,
  displayName: cleanName(account.displayName),
});

/** The display name as one line; null when it is not a string or has no visible characters. */
export const cleanName = (name: unknown): string | null =>
  typeof name === 'string'
    ? [...onOneLine(name)].slice(0, mostCharacters).join('').trim() || null
    : null;

/** Removes control characters, and bidirectional controls, which reorder the surrounding text. */
const onOneLine = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Bidi_Control}\s]+/gu, ' ')
    .trim()
    .toWellFormed();
