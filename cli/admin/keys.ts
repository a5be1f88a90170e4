import { LockMode } from '@mikro-orm/core';
import { recordAudit } from '../../db/audit.ts';
import { ApiKey } from '../../db/entities/workspaces.ts';
import { assertSound, scopes as allScopes } from '../../domain/api-keys.ts';
import { AppError } from '../../domain/errors.ts';
import { dropLinks } from '../../db/repositories/links.ts';
import { isId } from '../../domain/json-schema.ts';
import { presentKey } from '../../services/keys/read-keys.ts';
import { readExpiry, readName } from '../../services/keys/write-keys.ts';
import { chooseChannels } from '../../services/posts/choose-channels.ts';
import { storeWorkspaceKey } from '../../services/workspaces/write-workspaces.ts';
import { someOf, text } from '../flags.ts';
import { tableOf } from '../table.ts';
import { adminCommand } from './command.ts';
import { assertWorkspaceExists, workspaceArgs } from './workspaces.ts';

const create = adminCommand({
  brief: 'Creates another API key of a workspace, which is shown only now',
  args: workspaceArgs,
  flags: {
    name: text('For people', 'NAME'),
    scopes: someOf(allScopes, 'Its rights, separated by commas; all if omitted'),
    channels: text('The only channels that it sees', 'CHANNEL_ID,CHANNEL_ID'),
    expires: text('When it expires', 'TIME'),
  },
  run: async ({ em, now }, { workspaceId: id, name, scopes: given, channels, expires }) => {
    await assertWorkspaceExists(em, id);
    const channelIds = channels?.split(',').map((one) => one.trim()) ?? null;
    // A key for some channels cannot have `webhooks`.
    const most = channelIds && allScopes.filter((scope) => scope !== 'webhooks');
    const scopes = given ?? most;
    const expiresAt = readExpiry(expires ?? null, now());
    assertSound({ scopes: scopes ?? allScopes, channelIds, expiresAt });
    await chooseChannels(em, id, channelIds ?? []);
    const rights = {
      name: name === undefined ? null : readName(name),
      scopes,
      channelIds,
      expiresAt,
    };
    const { secret, key } = await storeWorkspaceKey(em, {}, id, rights);
    return {
      text: `API key, shown this once: ${secret}`,
      data: { workspace_id: id, api_key: secret, key },
    };
  },
});

const list = adminCommand({
  brief: 'Lists the API keys of a workspace, oldest first, also the revoked ones',
  args: workspaceArgs,
  run: async ({ em }, { workspaceId: id }) => {
    await assertWorkspaceExists(em, id);
    const oldestFirst = { orderBy: { createdAt: 'asc', id: 'asc' } } as const;
    const found = (await em.find(ApiKey, { workspaceId: id }, oldestFirst)).map(present);
    return {
      text: tableOf(found, [
        'id',
        'last_four',
        'name',
        'created_at',
        'last_used_at',
        'expires_at',
        'revoked_at',
        'scopes',
        'channel_ids',
      ]),
      data: { workspace_id: id, keys: found },
    };
  },
});

/** Calls that were already admitted change nothing more. A repeated revocation changes nothing. */
const revoke = adminCommand({
  brief: 'Revokes an API key, in every process from the next call on',
  args: { keyId: 'As "key list" shows it' },
  run: async ({ em, now }, { keyId: id }) => {
    const key = await em.transactional(async (tx) => {
      const lockMode = LockMode.PESSIMISTIC_WRITE;
      const found = isId(id) ? await tx.findOne(ApiKey, { id }, { lockMode }) : null;
      if (!found) {
        // Without the given text, which may be the key itself.
        const message =
          'There is no API key with this id; "npm run admin -- key list WORKSPACE_ID" shows the ids.';
        throw new AppError('not_found', message);
      }

      const { workspaceId } = found;
      found.revokedAt ??= now();
      await dropLinks(tx, { workspaceId, keyId: id }, 0);
      await recordAudit(tx, { workspaceId }, 'key.revoked', id);
      return found;
    });
    const { workspaceId } = key;
    const shown = present(key);
    return {
      text: `API key ${id} (…${key.lastFour}) of workspace ${workspaceId} is revoked since ${shown.revoked_at}`,
      data: { workspace_id: workspaceId, key: shown },
    };
  },
});

export const keys = { create, list, revoke };

const present = (key: ApiKey) => ({
  ...presentKey(key),
  revoked_at: key.revokedAt?.toISOString() ?? null,
});
