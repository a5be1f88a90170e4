import { sql, type RawBuilder } from 'kysely';
import { recordAudit, type Actor } from '../../db/audit.ts';
import { newId } from '../../db/new-id.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { assertSound, assertWithin, type KeyRights, type Scope } from '../../domain/api-keys.ts';
import { parseInstant, sampleTime } from '../../domain/due-time.ts';
import { AppError } from '../../domain/errors.ts';
import { isText } from '../../domain/texts.ts';
import { hashApiKey, newApiKey } from '../../runtime/secrets.ts';
import type { Caller } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { dropLinks } from '../channels/create-link.ts';
import { createOnce, type RequestKey } from '../idempotency.ts';
import { chooseChannels } from '../posts/choose-channels.ts';
import { keyColumns, presentKey, rightsOf, type KeyRow, type KeyView } from './read-keys.ts';

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

/**
 * Creates a key with no more rights than the caller's. The key itself is returned once.
 *
 * @throws AppError `invalid_request`, `invalid_channel_ids`, `rights_exceeded`, `key_limit_reached` or
 *   `idempotency_key_reused`.
 */
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
    return transact((em) => createAllowed(em, holder, { name, scopes, channelIds, expiresAt }));
  });
}

async function createAllowed(
  em: Em,
  holder: Holder,
  rights: KeyRights & Pick<NewKey, 'name'>,
): Promise<CreatedKey> {
  const { workspaceId, keyId } = holder;
  const { own } = await lockKeys(em, workspaceId, keyId);
  await assertAllowed(em, workspaceId, rights, own);
  await assertRoom(em, holder);

  const created = await storeKey(em, workspaceId, rights);
  await recordAudit(em, holder, 'key.created', created.key.id);
  return created;
}

/** @throws AppError `key_limit_reached` */
async function assertRoom(em: Em, { workspaceId, keyId }: Holder): Promise<void> {
  const [row] = await query(
    em,
    sql<{ count: number; own: number; made: number }>`
      select (select count(*)::int from api_keys
          where workspace_id = ${workspaceId} and revoked_at is null) as count, own, made
      from (select count(*)::int as made, count(*) filter (where actor_id = ${keyId})::int as own from audit_log
        where workspace_id = ${workspaceId} and action = 'key.created' and at > now() - interval '1 day') as day`,
  );
  const { count = 0, own = 0, made = 0 } = row ?? {};
  const most = 10 * maxNewKeys; // Of all keys of the workspace, as new keys can make others.
  const message =
    count >= maxKeys
      ? `A workspace has at most ${maxKeys} API keys. Revoke one first: DELETE /keys/{id}.`
      : made >= most
        ? `A workspace can make at most ${most} API keys in 24 hours. Try again later.`
        : `An API key can make at most ${maxNewKeys} others in 24 hours. Use another key, or try again later.`;
  if (count >= maxKeys || made >= most || own >= maxNewKeys) {
    throw new AppError('key_limit_reached', message);
  }
}

/**
 * Changes the sent fields of a key. Neither the old nor the new rights may exceed those of the caller, so a key cannot
 * widen itself.
 *
 * @throws AppError `not_found`, and those of `createKey`.
 */
export async function editKey(
  { orm, now }: Deps,
  holder: Holder,
  id: string,
  request: KeyEdit,
): Promise<KeyView> {
  const { workspaceId, keyId } = holder;
  const name = request.name === undefined ? undefined : readName(request.name);
  const expiresAt =
    request.expiresAt === undefined ? undefined : readExpiry(request.expiresAt, now());
  const { scopes, channelIds } = request;
  return orm.em.fork().transactional(async (em) => {
    const { own, key } = await lockKeys(em, workspaceId, keyId, id);
    const before = rightsOf(key);
    assertWithin(before, own);
    const rights = {
      scopes: scopes ?? before.scopes,
      channelIds: channelIds === undefined ? before.channelIds : channelIds,
      expiresAt: expiresAt === undefined ? before.expiresAt : expiresAt,
    };
    await assertAllowed(em, workspaceId, rights, own, channelIds ?? []);
    await recordAudit(em, holder, 'key.edited', id); // Before the change: a key may narrow itself.
    const [row = key] = await query(
      em,
      sql<KeyRow>`update api_keys set name = ${name ?? key.name}, scopes = ${textArray(scopes ?? key.scopes)},
          channel_ids = ${rights.channelIds}::uuid[], expires_at = ${rights.expiresAt}
        where id = ${id} and workspace_id = ${workspaceId} returning ${keyColumns}`,
    );
    return presentKey(row);
  });
}

/**
 * Revokes a key, in every process from the next call on, and ends its open links. A key may revoke itself.
 *
 * @throws AppError `not_found` or `rights_exceeded`.
 */
export async function revokeKey(
  { orm }: Pick<ServiceDeps, 'orm'>,
  holder: Holder,
  id: string,
): Promise<void> {
  const { workspaceId, keyId } = holder;
  await orm.em.fork().transactional(async (em) => {
    const { own, key } = await lockKeys(em, workspaceId, keyId, id);
    assertWithin(rightsOf(key), own);
    await recordAudit(em, holder, 'key.revoked', id); // Before the change: a key may revoke itself.
    await query(
      em,
      sql`update api_keys set revoked_at = now() where id = ${id} and workspace_id = ${workspaceId}`,
    );
    await dropLinks(em, { workspaceId, keyId: id }, 0);
  });
}

/** A key to store. */
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
  const [row] = await query(
    em,
    sql<KeyRow>`
      insert into api_keys (id, workspace_id, hash, last_four, name, scopes, channel_ids, expires_at, created_at)
      values (${newId()}, ${workspaceId}, ${hashApiKey(secret)}, ${secret.slice(-4)}, ${name}, ${textArray(scopes)},
        ${channelIds}::uuid[], ${expiresAt}, now())
      returning ${keyColumns}`,
  );
  if (!row) {
    throw new Error('The new key was not returned.');
  }

  return { secret, key: presentKey(row) };
}

/** SQL: the scopes without duplicates. */
const textArray = (scopes: readonly Scope[] | null): RawBuilder<unknown> =>
  sql`${scopes && [...new Set(scopes)]}::text[]`;

/**
 * Locks the calling key and another one until the transaction ends, and reads the caller's rights again: a key that was
 * revoked or narrowed while its call was under way must not leave another key behind. The lock on the workspace
 * serialises changes of keys.
 *
 * @throws AppError `rights_exceeded`, `not_found`
 */
async function lockKeys(
  em: Em,
  workspaceId: string,
  keyId: string,
  id = keyId,
): Promise<{ readonly own: KeyRights; readonly key: KeyRow }> {
  await query(em, sql`select 1 from workspaces where id = ${workspaceId} for no key update`);
  const rows = await query(
    em,
    sql<KeyRow>`select ${keyColumns} from api_keys
      where workspace_id = ${workspaceId} and id = any(${[keyId, id]}::uuid[]) and revoked_at is null
      order by id for update`,
  );
  const own = rows.find((row) => row.id === keyId);
  const key = rows.find((row) => row.id === id);
  if (!own) {
    throw new AppError(
      'rights_exceeded',
      'This API key was revoked during this call, so it can no longer change keys.',
    );
  }

  if (!key) {
    throw new AppError('not_found', `There is no API key with the id "${id}".`);
  }

  return { own: rightsOf(own), key };
}

/** @param named The channels that the request names, which must exist. */
async function assertAllowed(
  em: Em,
  workspaceId: string,
  rights: KeyRights,
  own: KeyRights,
  named: readonly string[] = rights.channelIds ?? [],
): Promise<void> {
  assertWithin(rights, own);
  assertSound(rights);
  await chooseChannels(em, workspaceId, named);
}

/** @throws AppError `invalid_request` when the name is blank, or PostgreSQL cannot store it. */
export function readName(given: string): string {
  if (!isText(given) || given.trim() === '') {
    throw invalid('name', 'must be text that is not blank: no NUL, no half of a surrogate pair');
  }

  return given.trim();
}

/** @throws AppError `invalid_request` */
export function readExpiry(given: string | null, now: Date): Date | null {
  const at = given === null ? null : parseInstant(given);
  if (given !== null && at === null) {
    throw invalid('expires_at', `must be a date and time such as ${sampleTime(now)}`);
  }

  if (at !== null && at <= now) {
    throw invalid(
      'expires_at',
      `is in the past: the server's clock says ${now.toISOString()}. Send a later time`,
    );
  }

  return at;
}

function invalid(field: string, message: string): AppError {
  return new AppError('invalid_request', `${field} ${message}.`, {
    details: [{ path: `/${field}`, message }],
  });
}
