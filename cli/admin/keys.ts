import { LockMode } from '@mikro-orm/core';
import { recordAudit } from '../../db/audit.ts';
import { ApiKey } from '../../db/entities/workspaces.ts';
import { assertSound, isScope, scopes as allScopes, type Scope } from '../../domain/api-keys.ts';
import { AppError } from '../../domain/errors.ts';
import { dropLinks } from '../../db/repositories/links.ts';
import { isId } from '../../domain/json-schema.ts';
import { presentKey } from '../../services/keys/read-keys.ts';
import { readExpiry, readName } from '../../services/keys/write-keys.ts';
import { chooseChannels } from '../../services/posts/choose-channels.ts';
import { storeWorkspaceKey } from '../../services/workspaces/write-workspaces.ts';
import { UsageError } from '../failures.ts';
import type { CommandAnswer, CommandDeps, Values } from './command.ts';
import { oneLine } from '../table.ts';
import { assertWorkspaceExists } from './workspaces.ts';

/** Creates a key with all rights, or with the given ones. A key for some channels cannot have `webhooks`. */
export async function createKey(
  { em, now }: CommandDeps,
  { WORKSPACE_ID: id = '', name, scopes: given, channels, expires }: Values,
): Promise<CommandAnswer> {
  await assertWorkspaceExists(em, id);
  const channelIds = channels === undefined ? null : list(channels);
  const most = channelIds && allScopes.filter((scope) => scope !== 'webhooks');
  const scopes = given === undefined ? most : readScopes(given);
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
}

const list = (given: string): string[] => given.split(',').map((one) => one.trim());

/** @throws UsageError that names an unknown scope. */
function readScopes(given: string): Scope[] {
  const names = list(given);
  const unknown = names.filter((name) => !isScope(name));
  if (unknown.length > 0) {
    throw new UsageError(
      `--scopes: there is no scope "${unknown.join(', ')}". There are ${allScopes.join(', ')}.`,
    );
  }

  return names.filter(isScope);
}

/** Lists the keys of a workspace, oldest first, including revoked ones. */
export async function listKeys(
  { em }: CommandDeps,
  { WORKSPACE_ID: id = '' }: Values,
): Promise<CommandAnswer> {
  await assertWorkspaceExists(em, id);
  const oldestFirst = { orderBy: { createdAt: 'asc', id: 'asc' } } as const;
  const rows = await em.find(ApiKey, { workspaceId: id }, oldestFirst);
  const keys = rows.map(present);
  return {
    text: keys.map(lineOf).join('\n') || `Workspace ${id} has no API key.`,
    data: { workspace_id: id, keys },
  };
}

function lineOf(key: ReturnType<typeof present>): string {
  return [
    key.id,
    `…${key.last_four}`,
    ...(key.name === null ? [] : [oneLine(key.name)]),
    `made ${key.created_at}`,
    key.last_used_at ? `last used ${key.last_used_at}` : 'never used',
    ...(key.scopes.length === allScopes.length ? [] : [`only ${key.scopes.join(', ')}`]),
    ...(key.channel_ids === null ? [] : [`on ${key.channel_ids.join(', ')}`]),
    ...(key.expires_at === null ? [] : [`expires ${key.expires_at}`]),
    ...(key.revoked_at === null ? [] : [`revoked ${key.revoked_at}`]),
  ].join('  ');
}

/**
 * Revokes a key. No process caches keys, so the next call with it fails everywhere; calls that were already
 * admitted change nothing more. A repeated revocation changes nothing.
 *
 * @throws AppError `not_found`, without the given text, which may be the key itself.
 */
export async function revokeKey(
  { em, now }: CommandDeps,
  { KEY_ID: id = '' }: Values,
): Promise<CommandAnswer> {
  const key = await em.transactional(async (tx) => {
    const lockMode = LockMode.PESSIMISTIC_WRITE;
    const found = isId(id) ? await tx.findOne(ApiKey, { id }, { lockMode }) : null;
    if (!found) {
      throw new AppError(
        'not_found',
        'There is no API key with this id; "npm run admin -- key list WORKSPACE_ID" shows the ids.',
      );
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
}

const present = (key: ApiKey) => ({
  ...presentKey(key),
  revoked_at: key.revokedAt?.toISOString() ?? null,
});
