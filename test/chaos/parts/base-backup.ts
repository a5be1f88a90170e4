import { chown, readdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Client as PgClient } from 'pg';
import { PlainError } from '../../../scripts/terminal.ts';
import { runCommand } from '../../../scripts/run-command.ts';

/**
 * Copies the data folder of a running PostgreSQL without its backup tools. The WAL is copied last and makes the copy
 * consistent when a server starts on it.
 *
 * @param url For a superuser.
 */
export async function copyCluster(url: string, cluster: string, copy: string): Promise<void> {
  const client = new PgClient({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await rm(copy, { recursive: true, force: true });
    await client.query("select pg_backup_start('chaos', true)");
    await copyFolder(cluster, copy);
    const { rows } = await client.query('select labelfile from pg_backup_stop(false)');
    await rm(path.join(copy, 'pg_wal'), { recursive: true, force: true });
    await copyFolder(path.join(cluster, 'pg_wal'), path.join(copy, 'pg_wal'));
    const label = path.join(copy, 'backup_label');
    await writeFile(label, String(rows[0]?.labelfile));
    const { uid, gid } = await stat(path.join(cluster, 'PG_VERSION'));
    await chown(label, uid, gid);
    for (const name of ['postmaster.pid', 'postmaster.opts']) {
      await rm(path.join(copy, name), { force: true });
    }
  } finally {
    await client.end();
  }
}

/** Replaces the data folder of a stopped PostgreSQL with a copy. */
export async function putBack(copy: string, cluster: string): Promise<void> {
  await rm(cluster, { recursive: true, force: true });
  await copyFolder(copy, cluster);
}

/** With owners and permissions. Files that were removed meanwhile are left out. */
async function copyFolder(from: string, to: string): Promise<void> {
  const copied = await runCommand('cp', ['-a', from, to], { env: { ...process.env, LC_ALL: 'C' } });
  const complaints = copied.ok
    ? []
    : copied.stderr
        .split('\n')
        .filter((line) => line !== '' && !line.includes('No such file or directory'));
  if (complaints.length > 0 || (await readdir(to)).length === 0) {
    throw new PlainError(`The database could not be copied: ${complaints.join('\n')}`);
  }
}
