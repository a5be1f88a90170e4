import { stat } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../run-command.ts';
import { PlainError } from '../terminal.ts';

/** Who PostgreSQL runs as. It refuses to run as root. */
export type Account = {
  /** Undefined: as ourselves. */
  readonly ids?: Ids;
  /** Stands before each command, when switching to those ids takes more than a plain spawn. */
  readonly prefix: readonly string[];
};

type Ids = { readonly uid: number; readonly gid: number };

/** A command the way `spawn` runs it under an account. */
export function commandAs({ ids, prefix }: Account, command: readonly string[]) {
  return {
    command: [...prefix, ...command],
    ...(ids && prefix.length === 0 ? ids : {}),
  };
}

/**
 * The account for a cluster in `cluster`: ourselves, unless we are root. Then it is the owner of the cluster, if there is one, else `postgres`, else `nobody`; none is created.
 *
 * @throws PlainError when root's account of choice may not enter a folder on the way, naming that folder.
 */
export async function postgresAccount(
  cluster: string,
  programFolder: string,
  env: NodeJS.ProcessEnv,
): Promise<Account> {
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

  const closed = (await closedTo(programFolder, ids)) ?? (await closedTo(cluster, ids));
  if (!closed) {
    return { ids, prefix: [] };
  }

  for (const right of ['+dac_read_search', '+dac_override']) {
    const prefix = passport(ids, right);
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
 * Lets one program of another user pass through folders that only root may enter, such as root's home. Of the two
 * rights that do, containers often withhold the lesser one. The bits keep it from being dropped where the C library
 * asks for the real user.
 */
function passport({ uid, gid }: Ids, right: string): [string, ...string[]] {
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

/** The first folder, from the root on, that this user may not enter. Those that do not exist yet are left out. */
async function closedTo(target: string, ids: Ids): Promise<string | undefined> {
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
