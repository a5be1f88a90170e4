import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { Client as PgClient } from 'pg';
import { forget, type Lived } from './lived.ts';
import type { Journal } from './parts/journal.ts';
import { readRestorePage } from './parts/restore-page.ts';
import type { Database } from './parts/servers.ts';
import type { Supervised } from './parts/supervise.ts';

export type Restorable = {
  readonly database: Database;
  readonly processes: readonly Supervised[];
  readonly temporalClient: Client;
  readonly journal: Journal;
  readonly living: readonly Lived[];
};

export type Backup = { readonly atMs: number; readonly putBack: () => Promise<void> };

export async function backUp({ database, journal }: Restorable): Promise<Backup> {
  const atMs = Date.now();
  const putBack = await database.backUp();
  journal.note('', `PostgreSQL is backed up, which took ${Date.now() - atMs} ms`);
  return { atMs, putBack };
}

/**
 * Loses the database, and does what the operators' page says. Nothing that was committed since the backup is left.
 *
 * @param suddenly API and workers die, too; otherwise they are told to stop before.
 */
export async function restore(hand: Restorable, backup: Backup, suddenly: boolean): Promise<void> {
  const { database, processes, temporalClient, journal, living } = hand;
  if (!suddenly) {
    const [api, ...workers] = processes;
    await api?.hold('SIGTERM');
    await Promise.all(workers.map((each) => each.hold('SIGTERM')));
  }

  journal.note('', 'PostgreSQL is lost, with all that it had');
  await database.gate.close();
  await database.kill();
  await Promise.all(processes.map((each) => each.hold('SIGKILL')));
  await sleep(1000); // Temporal's list of workflows is that much behind.
  const backupAt = new Date(backup.atMs);
  const ended: string[] = [];
  const { query } = await readRestorePage(backupAt);
  for await (const { workflowId } of temporalClient.workflow.list({ query })) {
    ended.push(workflowId.replace('post-', ''));
  }
  await backup.putBack();
  await database.revive();
  await sayTo(database.directUrl, (await readRestorePage(backupAt, ended)).statements);
  const restoredAtMs = Date.now();
  for (const lived of living) {
    forget(lived, { backupAtMs: backup.atMs, restoredAtMs, ended: new Set(ended) });
  }
  await database.gate.open();
  for (const each of processes) {
    each.resume();
  }
  journal.injected('PostgreSQL restored');
  journal.note('', `PostgreSQL is restored as it was ${restoredAtMs - backup.atMs} ms ago`);
}

async function sayTo(url: string, statements: readonly string[]): Promise<void> {
  const client = new PgClient({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) {
      await client.query(statement);
    }
  } finally {
    await client.end();
  }
}
