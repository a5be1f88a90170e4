import { stat } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../run-command.ts';
import { PlainError } from '../terminal.ts';

/** The user of the PostgreSQL processes. PostgreSQL refuses to run as root. */
export type SystemAccount = {
  /** Undefined: the current user. */
  readonly ids?: Ids;
  /** Prefix of each command, when switching to `ids` needs more than `spawn` can do. */
  readonly prefix: readonly string[];
};

type Ids = { readonly uid: number; readonly gid: number };

/** Returns the options for `spawn` to run a command under an account. */
export function commandAs({ ids, prefix }: SystemAccount, command: readonly string[]) {
  return {
    command: [...prefix, ...command],
    ...(ids && prefix.length === 0 ? ids : {}),
  };
}

/**
 * The account for a cluster in `cluster`: the current user unless it is root. For root, the owner of the cluster, else
 * `postgres`, else `nobody`; creates no user.
 *
 * @throws PlainError that names a folder on the path that the chosen account may not enter.
 */
export async function postgresAccount(
  cluster: string,
  programFolder: string,
  env: NodeJS.ProcessEnv,
): Promise<SystemAccount> {
  if (process.getuid?.() !== 0) {
    return { prefix: [] };
  }

  const ids = (await ownerOf(cluster)) ?? (await idsOf('postgres')) ?? (await idsOf('nobody'));
  if (!ids) {
    throw new PlainError(
      'PostgreSQL does not run as root, and there is neither a user "postgres" nor "nobody". ' +
        'Start as another user, or set DATABASE_URL to a database of your own.',
    );
  }

  const closed =
    (await inaccessibleFolder(programFolder, ids)) ?? (await inaccessibleFolder(cluster, ids));
  if (!closed) {
    return { ids, prefix: [] };
  }

  for (const right of ['+dac_read_search', '+dac_override']) {
    const prefix = setprivCommand(ids, right);
    const probe = await runCommand(prefix[0], [...prefix.slice(1), 'true'], { env });
    if (probe.ok) {
      return { ids, prefix };
    }
  }

  throw new PlainError(
    `PostgreSQL does not run as root, and the user it would run as (${ids.uid}) may not enter ${closed}. ` +
      `Run "chmod o+x ${closed}", move the project elsewhere, or set DATABASE_URL to a database of your own.`,
  );
}

/**
 * Lets a program of another user pass through folders that only root may enter, such as root's home. Two capabilities
 * allow it; containers often withhold the weaker one. The securebits keep it from being dropped where the C library
 * asks for the real user.
 */
function setprivCommand({ uid, gid }: Ids, right: string): [string, ...string[]] {
  const options = `--securebits +no_setuid_fixup --reuid ${uid} --regid ${gid} --clear-groups`;
  return ['setpriv', ...`${options} --inh-caps ${right} --ambient-caps ${right} --`.split(' ')];
}

async function ownerOf(folder: string): Promise<Ids | undefined> {
  const found = await stat(folder).catch(() => undefined);
  return found && found.uid !== 0 ? { uid: found.uid, gid: found.gid } : undefined;
}

async function idsOf(user: string): Promise<Ids | undefined> {
  const [uid, gid] = await Promise.all([
    runCommand('id', ['-u', user]),
    runCommand('id', ['-g', user]),
  ]);
  return uid.ok && gid.ok ? { uid: Number(uid.stdout), gid: Number(gid.stdout) } : undefined;
}

/** The first folder on the path, from `/`, that this user may not enter. Skips folders that do not exist yet. */
async function inaccessibleFolder(target: string, ids: Ids): Promise<string | undefined> {
  const steps: string[] = [];
  for (let step = path.resolve(target); !steps.includes(step); step = path.dirname(step)) {
    steps.unshift(step);
  }

  for (const step of steps) {
    const found = await stat(step).catch(() => undefined);
    if (found && !mayEnter(found, ids)) {
      return step;
    }
  }
  return undefined;
}

function mayEnter(folder: { mode: number; uid: number; gid: number }, { uid, gid }: Ids): boolean {
  const bit = folder.uid === uid ? 0o100 : folder.gid === gid ? 0o010 : 0o001;
  return (folder.mode & bit) !== 0;
}
