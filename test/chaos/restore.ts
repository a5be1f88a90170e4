import type { Client } from '@temporalio/client';
import { completeRestore } from '../../cli/installation.ts';
import { createOrm } from '../../db/orm.ts';
import type { Stage } from './change-post.ts';
import type { Found } from './networks/read-networks.ts';
import { callUntilAnswered } from './parts/calls.ts';
import type { Journal } from './parts/journal.ts';
import type { Database } from './parts/servers.ts';
import type { Supervised } from './parts/supervise.ts';
import { forget, type PostHistory } from './post-history.ts';

export type Restorable = {
  readonly database: Database;
  readonly processes: readonly Supervised[];
  readonly temporalClient: Client;
  readonly journal: Journal;
  readonly histories: readonly PostHistory[];
};

export type Backup = { readonly atMs: number; readonly putBack: () => Promise<void> };

export async function backUp({ database, journal }: Restorable): Promise<Backup> {
  const atMs = Date.now();
  const putBack = await database.backUp();
  journal.note('', `PostgreSQL backed up in ${Date.now() - atMs} ms`);
  return { atMs, putBack };
}

/**
 * Kills the database, restores the backup and follows the operators' guide. Commits since the backup are lost.
 *
 * @param suddenly Also kills API and workers; otherwise they are stopped before.
 */
export async function restore(hand: Restorable, backup: Backup, suddenly: boolean): Promise<void> {
  const { database, processes, temporalClient, journal, histories } = hand;
  if (!suddenly) {
    const [api, ...workers] = processes;
    await api?.hold('SIGTERM');
    await Promise.all(workers.map((each) => each.hold('SIGTERM')));
  }

  journal.note('', 'PostgreSQL lost with its data');
  await database.gate.close();
  await database.kill();
  await Promise.all(processes.map((each) => each.hold('SIGKILL')));
  await backup.putBack();
  await database.revive();
  const orm = createOrm(database.directUrl, { poolSize: 2 });
  const { ended } = await completeRestore(orm, temporalClient, new Date(backup.atMs));
  await orm.close();
  const restoredAtMs = Date.now();
  for (const history of histories) {
    forget(history, { backupAtMs: backup.atMs, restoredAtMs, ended: new Set(ended) });
  }
  await database.gate.open();
  for (const each of processes) {
    each.resume();
  }
  journal.injected('PostgreSQL restored');
  journal.restores.push({ backupAtMs: backup.atMs, restoredAtMs });
  journal.note('', `PostgreSQL restored to its state of ${restoredAtMs - backup.atMs} ms ago`);
}

/**
 * Settles a post after a restore. Only its owner can do so, by checking the account. Threads that may be live in part
 * are left out.
 *
 * @throws Error when the API refuses it.
 */
export async function settleForgotten(
  { client, channelIds, journal }: Stage,
  history: PostHistory,
  found: readonly Found[],
): Promise<void> {
  const { marker, parts } = history.plan;
  if (history.restores === 0 || parts > 1 || !history.end || history.end.status === 'draft') {
    return;
  }

  for (const { channel_id: id, status } of history.end.channels) {
    const channel = channelIds.indexOf(id);
    if (status !== 'unconfirmed') {
      continue;
    }

    const there = found.find((each) => each.marker === marker && each.channel === channel);
    const body = { channel_id: id, url: there?.url ?? null };
    const { reply } = await callUntilAnswered(() =>
      client.post(`/posts/${history.id}/settle`, body),
    );
    journal.note(marker, `settled ${body.url ?? 'as absent'}: ${reply.status}`);
    if (reply.status !== 200) {
      throw new Error(`The settle failed: ${reply.status} ${JSON.stringify(reply.body)}`);
    }

    history.settled += 1;
    history.end = reply.body.post;
  }
}
