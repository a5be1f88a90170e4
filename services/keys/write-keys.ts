import { LockMode } from '@mikro-orm/core';
import { recordAudit, type Actor } from '../../db/audit.ts';
import { ApiKey, AuditEntrySchema } from '../../db/entities/workspaces.ts';
import type { Em } from '../../db/orm.ts';
import { dropLinks } from '../../db/repositories/links.ts';
import { lockWorkspace } from '../../db/repositories/workspaces.ts';
import { assertSound, assertWithin, type KeyRights, type Scope } from '../../domain/api-keys.ts';
import { parseInstant, sampleTime } from '../../domain/due-time.ts';
import { AppError, wrongValue } from '../../domain/errors.ts';
import { isText } from '../../domain/texts.ts';
import { hashApiKey, newApiKey } from '../../runtime/secrets.ts';
import type { Caller } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { createOnce, type RequestKey } from '../idempotency.ts';
import { chooseChannels } from '../posts/choose-channels.ts';
import { presentKey, rightsOf, type KeyView } from './read-keys.ts';

/** A workspace's limits of calls are those of ten keys, however many it has. */
const maxKeys = 50;

/** Keys that a key makes in 24 hours, so that no key can use up another's. Each leaves a row, also when it is revoked. */
const maxNewKeys = 100;

/** Only the given fields change. Null clears them. */
type KeyEdit = {
  readonly name?: string;
  readonly scopes?: readonly Scope[];
  readonly channelIds?: readonly string[] | null;
  /** RFC 3339. */
  readonly expiresAt?: string | null;
};

type Holder = Actor & Pick<Caller, 'keyId'>;
type Deps = Pick<ServiceDeps, 'orm' | 'now'>;

/** Creates a key with no more rights than the caller's. The key itself is returned once. */
export function createKey(
  deps: Deps & Pick<ServiceDeps, 'sealer'>,
  holder: Holder,
  request: KeyEdit & Required<Pick<KeyEdit, 'name' | 'scopes'>>,
  key?: RequestKey,
): Promise<CreatedKey & { readonly replayed: boolean }> {
  return createOnce<CreatedKey>(deps, holder.workspaceId, key, (transact) => {
    const name = readName(request.name);
    const { scopes, channelIds = null } = request;
    const expiresAt = readExpiry(request.expiresAt ?? null, deps.now());
    const rights = { scopes, channelIds, expiresAt };
    return transact(async (em) => {
      const { own } = await lockKeys(em, holder);
      await assertAllowed(em, holder, rights, own);
      await assertRoom(em, holder, deps.now());
      const created = await storeKey(em, holder.workspaceId, { ...rights, name });
      await recordAudit(em, holder, 'key.created', created.key.id);
      return created;
    });
  });
}

async function assertRoom(em: Em, { workspaceId, keyId }: Holder, now: Date): Promise<void> {
  const dayBefore = new Date(now.getTime() - 24 * 3_600_000);
  const recent = { workspaceId, action: 'key.created', at: { $gt: dayBefore } };
  const count = await em.count(ApiKey, { workspaceId, revokedAt: null });
  const made = await em.count(AuditEntrySchema, recent);
  const madeByKey = await em.count(AuditEntrySchema, { ...recent, actorId: keyId });
  const most = 10 * maxNewKeys; // For all keys of the workspace, as new keys can make others.
  const message =
    count >= maxKeys
      ? `A workspace has at most ${maxKeys} API keys. Revoke one first: DELETE /keys/{id}.`
      : made >= most
        ? `A workspace can make at most ${most} API keys in 24 hours. Try again later.`
        : `An API key can make at most ${maxNewKeys} others in 24 hours. Use another key, or try again later.`;
  if (count >= maxKeys || made >= most || madeByKey >= maxNewKeys) {
    throw new AppError('key_limit_reached', message);
  }
}

/**
 * Changes the sent fields of a key. Neither the old nor the new rights may exceed those of the caller, so a key cannot
 * widen itself.
 */
export async function editKey(
  { orm, now }: Deps,
  holder: Holder,
  id: string,
  request: KeyEdit,
): Promise<KeyView> {
  const name = request.name === undefined ? undefined : readName(request.name);
  const expiresAt =
    request.expiresAt === undefined ? undefined : readExpiry(request.expiresAt, now());
  const { scopes, channelIds } = request;
  return orm.em.fork().transactional(async (em) => {
    const { own, key } = await lockKeys(em, holder, id);
    assertWithin(rightsOf(key), own);
    await recordAudit(em, holder, 'key.edited', id); // Before the change: a key may narrow itself.
    em.assign(key, {
      ...(name === undefined ? {} : { name }),
      ...(scopes === undefined ? {} : { scopes: [...new Set(scopes)] }),
      ...(channelIds === undefined ? {} : { channelIds: channelIds && [...channelIds] }),
      ...(expiresAt === undefined ? {} : { expiresAt }),
    });
    await assertAllowed(em, holder, rightsOf(key), own, channelIds ?? []);
    return presentKey(key);
  });
}

/** Revokes a key, in every process from the next call on, and ends its open links. A key may revoke itself. */
export async function revokeKey({ orm, now }: Deps, holder: Holder, id: string): Promise<void> {
  await orm.em.fork().transactional(async (em) => {
    const { own, key } = await lockKeys(em, holder, id);
    assertWithin(rightsOf(key), own);
    await recordAudit(em, holder, 'key.revoked', id); // Before the change: a key may revoke itself.
    key.revokedAt = now();
    await dropLinks(em, { workspaceId: holder.workspaceId, keyId: id }, 0);
  });
}

export type NewKey = Omit<KeyRights, 'scopes'> & {
  readonly name: string | null;
  /** Null for all, also future ones. */
  readonly scopes: readonly Scope[] | null;
};

/** `secret` is the key itself; only its hash is stored. */
export type CreatedKey = { readonly secret: string; readonly key: KeyView };

export async function storeKey(
  em: Em,
  workspaceId: string,
  { name, scopes, channelIds, expiresAt }: NewKey,
): Promise<CreatedKey> {
  const secret = newApiKey();
  const key = em.create(ApiKey, {
    workspaceId,
    hash: hashApiKey(secret),
    lastFour: secret.slice(-4),
    name,
    scopes: scopes && [...new Set(scopes)],
    channelIds: channelIds && [...channelIds],
    expiresAt,
    revokedAt: null,
    lastUsedAt: null,
  });
  await em.flush();
  return { secret, key: presentKey(key) };
}

/**
 * Locks the calling key and another one until the transaction ends, and reads the caller's rights again: a key that was
 * revoked or narrowed while its call was under way must not leave another key behind.
 */
async function lockKeys(
  em: Em,
  { workspaceId, keyId }: Holder,
  id = keyId,
): Promise<{ readonly own: KeyRights; readonly key: ApiKey }> {
  await lockWorkspace(em, workspaceId); // Serialises all changes of keys.
  const keys = await em.find(
    ApiKey,
    { workspaceId, id: { $in: [keyId, id] }, revokedAt: null },
    { orderBy: { id: 'asc' }, lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  const [own, key] = [keyId, id].map((one) => keys.find((found) => found.id === one));
  if (!own) {
    const message = 'This API key was revoked during this call, so it can no longer change keys.';
    throw new AppError('rights_exceeded', message);
  }

  if (!key) {
    throw new AppError('not_found', `There is no API key with the id "${id}".`);
  }

  return { own: rightsOf(own), key };
}

/** @param named The channels that the request names, which must exist. */
async function assertAllowed(
  em: Em,
  { workspaceId }: Holder,
  rights: KeyRights,
  own: KeyRights,
  named: readonly string[] = rights.channelIds ?? [],
): Promise<void> {
  assertWithin(rights, own);
  assertSound(rights);
  await chooseChannels(em, workspaceId, named);
}

export function readName(given: string): string {
  if (!isText(given) || given.trim() === '') {
    throw wrongValue(
      '/name',
      'must be text that is not blank: no NUL, no half of a surrogate pair',
    );
  }

  return given.trim();
}

export function readExpiry(given: string | null, now: Date): Date | null {
  const at = given === null ? null : parseInstant(given);
  if (given !== null && at === null) {
    throw wrongValue('/expires_at', `must be a date and time such as ${sampleTime(now)}`);
  }

  if (at !== null && at <= now) {
    throw wrongValue(
      '/expires_at',
      `is in the past: the server's clock says ${now.toISOString()}. Send a later time`,
    );
  }

  return at;
}
