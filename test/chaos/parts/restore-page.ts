import { readFile } from 'node:fs/promises';

/** What the operators' page says about a restored database: to be done as it stands there. */
export type RestorePage = {
  /** For Temporal: the posts that it ended since the backup. */
  readonly query: string;
  /** For the restored database, before anything runs on it. */
  readonly statements: readonly string[];
};

const page = new URL('../../../docs/backups.md', import.meta.url);
const heading = '## Restoring the database';

/** @throws Error when the page says something else than it did. */
export async function readRestorePage(
  backupAt: Date,
  ids: readonly string[] = [],
): Promise<RestorePage> {
  const text = await readFile(page, 'utf8');
  const section = text.split(/^(?=## )/mv).find((each) => each.startsWith(heading)) ?? '';
  const inTime = section.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/gv, backupAt.toISOString());
  const query = /--query "(?<query>[^"]+)"/v.exec(inTime)?.groups?.['query'];
  const statements = [...inTime.matchAll(/^ *```sql\n(?<sql>[\s\S]*?)^ *```/gmv)].map(
    ({ groups = {} }) => (groups['sql'] ?? '').replaceAll("'{}'", `'{${ids.join(',')}}'`),
  );
  if (query === undefined || statements.length === 0) {
    throw new Error('docs/backups.md does not say how to restore the database.');
  }

  return { query, statements };
}
