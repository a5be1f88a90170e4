import { LockMode } from '@mikro-orm/core';
import { sql } from 'kysely';
import { Channel } from '../db/entities/channel.ts';
import { newId } from '../db/new-id.ts';
import type { Em } from '../db/orm.ts';
import { query } from '../db/query.ts';
import { credentialsPurpose, sessionPurpose } from '../db/sealing-purposes.ts';
import { quotaExceeded } from '../domain/quotas.ts';
import type { Account } from '../networks/network.ts';
import type { Grant } from '../networks/oauth.ts';
import type { Sealer } from '../runtime/secrets.ts';
import { storeGrant } from './grants.ts';
import { plainAccount } from './plain-account.ts';

export type ConnectOptions = {
  /** What the network handed out in a browser; null or left out where the account's own credentials open it. */
  readonly grant?: Grant | null;
  /** Its server is no part of who the account is, as its network proved: its channel follows it to another one. */
  readonly moves?: boolean;
  /** How many channels the settings let a workspace have; any number when left out. */
  readonly most?: number;
};

/**
 * Stores a connected account, its secrets sealed. The same account connected again keeps its channel, so that
 * posts that wait for it find the new access. One that was disconnected comes back as the channel that it was, with the
 * posts that it had published.
 *
 * @throws AppError `quota_exceeded` when it would be one more than the workspace may have.
 */
export async function connectChannel(
  em: Em,
  sealer: Sealer,
  workspaceId: string,
  platform: string,
  account: Account,
  { grant = null, moves = false, most = Number.POSITIVE_INFINITY }: ConnectOptions = {},
): Promise<Channel> {
  const { baseUrl, remoteId, handle, displayName, settings } = plainAccount(account);
  return em.transactional(async (tx) => {
    // Locked: its access may be lost at this moment, and what is written here must come after that.
    const own = { workspaceId, platform, remoteId };
    const find = async () =>
      (await tx.findOne(Channel, { ...own, baseUrl }, locked)) ??
      (moves ? await tx.findOne(Channel, own, locked) : null);
    let known = await find();
    if (!known) {
      await lockWorkspace(tx, workspaceId);
      known = await find();
    }

    if (known?.disconnectedAt) {
      await lockWorkspace(tx, workspaceId);
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
    const channel = known ? tx.assign(known, fresh) : tx.create(Channel, { id, ...own, ...fresh });
    await tx.flush();
    await storeGrant(tx, sealer, { workspaceId, channelId: id }, grant);
    return channel;
  });
}

const locked = { lockMode: LockMode.PESSIMISTIC_WRITE } as const;

/** Accounts that are connected for the first time, or anew, wait for each other. */
const lockWorkspace = (em: Em, workspaceId: string): Promise<unknown> =>
  query(em, sql`select id from workspaces where id = ${workspaceId} for no key update`);

/** @throws AppError `quota_exceeded` where a workspace has as many channels as it may. */
export async function assertChannelQuota(em: Em, workspaceId: string, most: number): Promise<void> {
  const [own] = await query(
    em,
    sql<{ channels: number | null }>`
      select (quotas ->> 'channels')::bigint::float8 as channels from workspaces where id = ${workspaceId}`,
  );
  const limit = own?.channels ?? most;
  const used = await em.count(Channel, { workspaceId, disconnectedAt: null });
  if (used >= limit) {
    throw quotaExceeded('channels', limit, used);
  }
}
