import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { completeRestore } from '../../cli/admin/installation.ts';
import { createOrm, type Orm } from '../../db/orm.ts';
import { awaitsRestoreFinish } from '../../db/restore-counter.ts';
import type { Stage } from './change-post.ts';
import type { Found } from './networks/read-networks.ts';
import type { Reply } from '../support/client.ts';
import { callUntilAnswered } from './parts/calls.ts';
import type { Journal } from './parts/journal.ts';
import type { Database } from './parts/servers.ts';
import type { Supervised } from './parts/supervise.ts';
import { factsOf } from './plan/platforms.ts';
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

/** How long the product may take to notice that its database is older, in milliseconds. */
const noticesWithinMs = 150_000;

/**
 * Replaces the database by the backup while API and workers run on, as a failover does. If the product asks for it,
 * runs `restore finish` as the operator does. If not, it must cope alone.
 */
export async function replace(hand: Restorable, backup: Backup): Promise<void> {
  const { database, temporalClient, journal, histories } = hand;
  const { atMs: backupAtMs } = backup;
  journal.note('', 'PostgreSQL replaced by an older copy, all processes run on');
  await database.gate.close();
  await database.kill();
  await backup.putBack();
  await database.revive();
  const restoredAtMs = Date.now();
  for (const history of histories) {
    forget(history, { backupAtMs, restoredAtMs });
  }
  journal.restores.push({ backupAtMs, restoredAtMs });
  journal.injected('PostgreSQL restored');
  await database.gate.open();
  const orm = createOrm(database.directUrl, { poolSize: 2 });
  if (await isNoticed(orm)) {
    journal.disturbed();
    const { ended, ...done } = await completeRestore(orm, temporalClient, null);
    for (const history of histories) {
      forget(history, { backupAtMs, restoredAtMs: Date.now(), ended: new Set(ended) });
    }
    journal.note('', `restore finish: ${ended.length} posts ended since, ${JSON.stringify(done)}`);
  } else {
    journal.note('', 'the product did not notice the older database');
  }

  await orm.close();
}

async function isNoticed(orm: Orm): Promise<boolean> {
  const giveUpAtMs = Date.now() + noticesWithinMs;
  while (Date.now() < giveUpAtMs) {
    if (await awaitsRestoreFinish(orm)) {
      return true;
    }

    await sleep(500);
  }

  return false;
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
    const url = there?.url ? await atItsServer(client, id, there.url) : null;
    const body = { channel_id: id, url };
    let reply: Reply;
    do {
      ({ reply } = await callUntilAnswered(() => client.post(`/posts/${history.id}/settle`, body)));
      // Settled too early: the network may still process a request.
      await sleep(Number(reply.headers.get('retry-after')) * 1000);
    } while (reply.status === 409 && reply.headers.has('retry-after'));

    journal.note(marker, `settled ${body.url ?? 'as absent'}: ${reply.status}`);
    if (reply.status !== 200) {
      throw new Error(`The settle failed: ${reply.status} ${JSON.stringify(reply.body)}`);
    }

    history.settled += 1;
    history.end = reply.body.post;
  }
}

/** The address of a post at the server that its channel is connected to: a proxy in front of the real one. */
async function atItsServer(
  client: Stage['client'],
  channelId: string,
  url: string,
): Promise<string> {
  const { reply } = await callUntilAnswered(() => client.get(`/channels/${channelId}`));
  const { platform, server } = reply.body.channel;
  return factsOf(platform).namesItself ? `http://${server}${new URL(url).pathname}` : url;
}
