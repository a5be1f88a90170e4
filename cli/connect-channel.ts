import type { Account } from '../networks/network.ts';
import type { Sealer } from '../runtime/sealer.ts';
import { Channel } from '../db/entities/channel.ts';
import { newId } from '../db/new-id.ts';
import { quotaExceeded } from '../domain/quotas.ts';
import type { Em } from '../db/orm.ts';
import { credentialsPurpose, sessionPurpose } from '../db/sealing-purposes.ts';

/**
 * Stores a connected account, its secrets sealed. The same account connected again keeps its channel, so that
 * posts that wait for it find the new access.
 *
 * @param most How many channels the settings let a workspace have; any number when left out.
 * @throws AppError `quota_exceeded` when it would be one more than the workspace may have.
 */
export async function connectChannel(
  em: Em,
  sealer: Sealer,
  workspaceId: string,
  platform: string,
  account: Account,
  most: number = Number.POSITIVE_INFINITY,
): Promise<Channel> {
  const { baseUrl, remoteId, handle, settings } = account;
  return em.transactional(async (tx) => {
    const known = await tx.findOne(Channel, { workspaceId, platform, baseUrl, remoteId });
    if (!known) {
      await mustHaveRoom(tx, workspaceId, most);
    }

    const id = known?.id ?? newId();
    const fresh = {
      handle,
      settings,
      sealedCredentials: sealer.seal(JSON.stringify(account.credentials), credentialsPurpose(id)),
      sealedSession:
        account.session === null
          ? null
          : sealer.seal(JSON.stringify(account.session), sessionPurpose(id)),
      state: 'connected' as const,
      error: null,
      parkedUntil: null,
    };
    return known
      ? tx.assign(known, fresh)
      : tx.create(Channel, { id, workspaceId, platform, baseUrl, remoteId, ...fresh });
  });
}

/** The workspace's row makes those who connect at the same time queue up. */
async function mustHaveRoom(em: Em, workspaceId: string, most: number): Promise<void> {
  const [own] = await em.execute<{ channels: number | null }[]>(
    `select (quotas ->> 'channels')::bigint::float8 as channels from workspaces where id = ? for no key update`,
    [workspaceId],
  );
  const limit = own?.channels ?? most;
  const used = await em.count(Channel, { workspaceId });
  if (used >= limit) {
    throw quotaExceeded('channels', limit, used);
  }
}
