import { sql } from 'kysely';
import type { Orm } from './orm.ts';
import { db, query } from './query.ts';

/** @returns the id that this database got when its schema was made. */
export async function installationId(orm: Orm): Promise<string> {
  const [row] = await query(orm.em.fork(), db.selectFrom('installation').select('id'));
  if (!row) {
    throw new Error('The table "installation" is empty.');
  }

  return row.id;
}

/** The secrets of this database are sealed under another SECRET_KEY than this process has. */
export class OtherSecretKeyError extends Error {
  override readonly name = 'OtherSecretKeyError';

  constructor(wanted: string, own: string) {
    super(
      `SECRET_KEY is another one (${own}) than that under which the secrets of this database are sealed (${wanted}). Start with that one. If it is gone for good, "npm run admin -- secret-key adopt" takes yours: then each account has to be connected anew and each webhook endpoint registered anew.`,
    );
  }
}

/** The first process of a database says which key it is; in one of before, only if it can open some of what is there. */
const claimSealing = (keyId: string) => sql`update installation set sealed_by = ${keyId}
  where sealed_by is null and (
    not exists (select from channels where disconnected_at is null) and not exists (select from webhook_endpoints)
    or exists (select from channels where split_part(sealed_credentials, '.', 2) = ${keyId})
    or exists (select from webhook_endpoints where split_part(sealed_secret, '.', 2) = ${keyId})
  )`;

/**
 * Before a process seals or opens anything. A wrong key would be noticed by nothing but channels that cannot publish,
 * and whatever is sealed under it by all who have the right one.
 *
 * @param keyId Of the process's key, as sealed secrets name it.
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

/** Between two looks, in milliseconds. What is sealed in between under the key of before is lost. */
const intervalMs = 10_000;

/**
 * Looks again and again, until the returned function is called: another key may be taken for the right one while this
 * process runs.
 *
 * @param isFatal Ends the process at an OtherSecretKeyError, and throws everything else on.
 */
export function keepSealedBy(
  orm: Orm,
  keyId: string,
  isFatal: (error: unknown) => never,
): () => void {
  const timer = setInterval(() => {
    assertStillSealedBy(orm, keyId)
      .catch(isFatal)
      .catch(() => undefined); // What needs the database says that it is away.
  }, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * From now on this key is the right one. What was sealed under another stays as it is, and cannot be opened.
 *
 * @returns whether another one was it until now.
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
