import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { finishRestore, readRestoreCounter, type Finished } from '../db/restore-counter.ts';
import { installationId } from '../db/installation.ts';
import type { Orm } from '../db/orm.ts';
import { AppError } from '../domain/errors.ts';
import { loadStoredCounter } from '../temporal/restore-counter.ts';
import type { CommandAnswer, CommandDeps } from './command.ts';
import { readTime } from './posts/read-options.ts';

/** Tolerance between the clocks of Temporal and the database, in milliseconds. */
const clocksDifferMs = 60_000;

/** Temporal's workflow lists lag by about a second. In milliseconds. */
const listLagMs = 2000;

export async function finishRestoredDatabase(
  { orm, openTemporal, now }: CommandDeps,
  { since }: Readonly<Record<string, string>>,
): Promise<CommandAnswer> {
  const temporal = await openTemporal();
  try {
    const from = since === undefined ? null : readTime('since', since, now());
    const { ended, ...done } = await finish(orm, temporal.client, from);
    const text = [
      `Posts whose workflow ended since the backup: ${ended.length}.`,
      `Channels that may have been published since, now unconfirmed: ${done.unconfirmedChannels}.`,
      `Posts that are still due, synced again: ${done.syncedPosts}. Deliveries: ${done.syncedDeliveries}.`,
      'The workers continue. Check the accounts, then settle the unconfirmed channels: npm run admin -- post list --unconfirmed',
    ].join('\n');
    return { text, data: { ended, ...done } };
  } finally {
    await temporal.close();
  }
}

/**
 * @param since When the backup began; null uses one minute before the last count in the database.
 * @throws AppError when the database is not behind Temporal and no time was given.
 */
export async function finish(
  orm: Orm,
  client: Client,
  since: Date | null,
): Promise<Finished & { readonly ended: readonly string[] }> {
  // Read before the database's count, because workers raise Temporal's count first.
  const known = (await loadStoredCounter(client, await installationId(orm))) ?? 0;
  const { count, lastAt, behindSince } = await readRestoreCounter(orm);
  if (since === null && behindSince === null && known <= count) {
    throw new AppError(
      'invalid_request',
      'The database is not older than its workflows, so nothing was changed. If it was restored (from a backup that is younger than two minutes, or with an empty Temporal), give the time at which the backup began: --since 2027-03-01T03:00:00Z.',
    );
  }

  const from = since ?? (lastAt && new Date(lastAt.getTime() - clocksDifferMs));
  if (from === null) {
    throw new AppError(
      'invalid_request',
      'The backup does not say when it was made. Give the time at which it began: --since 2027-03-01T03:00:00Z.',
    );
  }

  await sleep(listLagMs);
  const ended: string[] = [];
  const list = `WorkflowType = 'publishPost' AND ExecutionStatus != 'Running' AND CloseTime > '${from.toISOString()}'`;
  for await (const { workflowId } of client.workflow.list({ query: list })) {
    ended.push(workflowId.replace('post-', ''));
  }

  const done = await orm.em.fork().transactional((em) => finishRestore(em, ended, known));
  return { ...done, ended };
}
