import { sql } from 'kysely';
import type { Orm } from './orm.ts';
import { db, query } from './query.ts';

/** @returns the database's id, created with its schema. */
export async function installationId(orm: Orm): Promise<string> {
  const [row] = await query(orm.em.fork(), db.selectFrom('installation').select('id'));
  if (!row) {
    throw new Error('The table "installation" is empty.');
  }

  return row.id;
}

/** The secrets of the database are sealed under another SECRET_KEY than this process has. */
export class OtherSecretKeyError extends Error {
  override readonly name = 'OtherSecretKeyError';

  constructor(wanted: string, own: string) {
    super(
      `SECRET_KEY (${own}) is not the key that sealed the secrets of this database (${wanted}). Start with that key. If it is lost, run "npm run admin -- secret-key adopt" to use this one: then each account has to be connected again and each webhook endpoint registered again.`,
    );
  }
}

/**
 * The first process stores its key's id. On a database of an earlier version, it does so only if its key opens some of
 * the secrets.
 */
const claimSealing = (keyId: string) => sql`update installation set sealed_by = ${keyId}
  where sealed_by is null and (
    not exists (select from channels where disconnected_at is null) and not exists (select from webhook_endpoints)
    or exists (select from channels where split_part(sealed_credentials, '.', 2) = ${keyId})
    or exists (select from webhook_endpoints where split_part(sealed_secret, '.', 2) = ${keyId})
  )`;

/**
 * Checks the key before a process seals or opens anything. Otherwise a wrong key would show only in channels that
 * cannot publish, and in secrets that the right key cannot open.
 *
 * @param keyId Id of the process's key, as in sealed secrets.
 * @throws OtherSecretKeyError
 */
export async function assertSealedBy(orm: Orm, keyId: string): Promise<void> {
  await query(orm.em.fork(), claimSealing(keyId));
  await assertStillSealedBy(orm, keyId);
}

/** @throws OtherSecretKeyError */
async function assertStillSealedBy(orm: Orm, keyId: string): Promise<void> {
  const [row] = await query(orm.em.fork(), db.selectFrom('installation').select('sealed_by'));
  if (row?.sealed_by !== keyId) {
    throw new OtherSecretKeyError(row?.sealed_by ?? 'one of an earlier version', keyId);
  }
}

/** Check interval, in milliseconds. Secrets sealed under the old key in between are lost. */
const intervalMs = 10_000;

/**
 * Repeats the check until the returned function is called: another key may be adopted while this process runs.
 *
 * @param isFatal Ends the process at an OtherSecretKeyError, and rethrows other errors.
 */
export function keepSealedBy(
  orm: Orm,
  keyId: string,
  isFatal: (error: unknown) => never,
): () => void {
  const timer = setInterval(() => {
    assertStillSealedBy(orm, keyId)
      .catch(isFatal)
      .catch(() => undefined); // Other queries report that the database is unavailable.
  }, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * Makes this key the database's. Secrets sealed under another key stay and cannot be opened.
 *
 * @returns whether another key was in use before.
 */
export async function adoptKey(orm: Orm, keyId: string): Promise<boolean> {
  const em = orm.em.fork();
  await query(em, claimSealing(keyId));
  const adopted = await query(
    em,
    sql`update installation set sealed_by = ${keyId}
      where sealed_by is distinct from ${keyId} returning sealed_by`,
  );
  return adopted.length > 0;
}
