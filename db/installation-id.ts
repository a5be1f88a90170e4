import { ask } from './ask.ts';
import type { Orm } from './orm.ts';

/** @returns the id that this database got when its schema was made. */
export async function installationId(orm: Orm): Promise<string> {
  const [row] = await ask<{ id: string }>(orm.em.fork(), 'select id from installation', []);
  if (!row) {
    throw new Error('The table "installation" is empty.');
  }

  return row.id;
}
