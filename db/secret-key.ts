import { ask } from './ask.ts';
import type { Orm } from './orm.ts';

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
const claim = `update installation set sealed_by = $1
  where sealed_by is null and (
    not exists (select from channels) and not exists (select from webhook_endpoints)
    or exists (select from channels where split_part(sealed_credentials, '.', 2) = $1)
    or exists (select from webhook_endpoints where split_part(sealed_secret, '.', 2) = $1)
  )`;

/**
 * Before a process seals or opens anything. A wrong key would be noticed by nothing but channels that cannot publish,
 * and whatever is sealed under it by all who have the right one.
 *
 * @param keyId Of the process's key, as sealed secrets name it.
 * @throws OtherSecretKeyError
 */
export async function mustBeSealedBy(orm: Orm, keyId: string): Promise<void> {
  const em = orm.em.fork();
  await ask(em, claim, [keyId]);
  const [row] = await ask<{ sealed_by: string | null }>(
    em,
    'select sealed_by from installation',
    [],
  );
  if (row?.sealed_by !== keyId) {
    throw new OtherSecretKeyError(row?.sealed_by ?? 'its name is in them', keyId);
  }
}

/** From now on this key is the right one. What was sealed under another stays as it is, and cannot be opened. */
export async function adoptKey(orm: Orm, keyId: string): Promise<void> {
  await ask(orm.em.fork(), 'update installation set sealed_by = $1', [keyId]);
}
