import type { Account } from '../networks/network.ts';
import type { Sealer } from '../runtime/sealer.ts';
import { Channel } from '../db/entities/channel.ts';
import { newId } from '../db/new-id.ts';
import type { Em } from '../db/orm.ts';
import { credentialsPurpose, sessionPurpose } from '../db/sealing-purposes.ts';

/**
 * Stores a connected account, its secrets sealed. The same account connected again keeps its channel, so that
 * posts that wait for it find the new access.
 */
export async function connectChannel(
  em: Em,
  sealer: Sealer,
  workspaceId: string,
  platform: string,
  account: Account,
): Promise<Channel> {
  const { baseUrl, remoteId, handle, settings } = account;
  return em.transactional(async (tx) => {
    const known = await tx.findOne(Channel, { workspaceId, platform, baseUrl, remoteId });
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
