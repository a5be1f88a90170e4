import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { sql } from 'kysely';
import { adoptKey, adoptStorage, installationId, missingFile } from '../../db/installation.ts';
import { migrate } from '../../db/migrate.ts';
import type { Em, Orm } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import {
  duePosts,
  finishRestore,
  lacksResult,
  readRestoreCounter,
  type RestoreCounter,
  type Finished,
} from '../../db/restore-counter.ts';
import { AppError } from '../../domain/errors.ts';
import type { PostStatus } from '../../domain/statuses.ts';
import { forEachLimit } from '../../runtime/concurrency.ts';
import { readConfig } from '../../runtime/config/read-config.ts';
import { hasGrpcCode } from '../../temporal/connect.ts';
import { readLatestRun } from '../../temporal/latest-run.ts';
import { loadStoredCounter } from '../../temporal/namespace.ts';
import { UsageError } from '../failures.ts';
import { pastTime } from '../flags.ts';
import { adminCommand } from './command.ts';

/** Prints each migration to standard error as it begins: one of a large table may take long. */
export const migrateDatabase = adminCommand({
  brief: "Migrates the database to this version's schema, as the API and workers do at their start",
  runAlone: async () => {
    const applied = new Set<string>();
    await migrate(readConfig().databaseUrl, (name) => {
      console.error(name);
      applied.add(name);
    });
    const text =
      applied.size > 0 ? `${applied.size} migrations were applied.` : 'The schema is up to date.';
    return { text, data: { applied: [...applied] } };
  },
});

const adoptMediaStorage = adminCommand({
  brief: 'Accepts the media storage of these settings for the database, after its files were moved',
  run: async ({ orm, openStorage }) => {
    const storage = await openStorage();
    try {
      await adoptStorage(orm, storage);
      const warning = await missingFile(orm, storage);
      const done =
        'This database now uses the media storage of these settings. Give the API and all workers the same settings.';
      const text = warning === null ? done : `${done}\nWarning: ${warning}`;
      return { text, data: { adopted: true, warning } };
    } finally {
      storage.close();
    }
  },
});

const adoptSecretKey = adminCommand({
  brief:
    'Accepts the current SECRET_KEY after the old one was lost; accounts must be connected again',
  takesAnyKey: true,
  run: async ({ orm, sealer: { keyId } }) => {
    const changed = await adoptKey(orm, keyId);
    return {
      text: changed
        ? `SECRET_KEY (${keyId}) is the one of this database now. Stop processes that still run with another one, and start them with this one. What was sealed under another one cannot be opened: connect each account anew, and register each webhook endpoint anew.`
        : `SECRET_KEY (${keyId}) is the one of this database already: nothing was changed.`,
      data: { secret_key: keyId, changed },
    };
  },
});

const finishRestoredDatabase = adminCommand({
  brief: 'Prepares a database that was restored from a backup; until then workers send nothing',
  flags: { since: pastTime('When the older backup began; found if omitted and Temporal was kept') },
  takesLong: true,
  run: async ({ orm, openTemporal }, { since = null }) => {
    // A time in the wrong year or zone would doubt nothing, and let the workers publish again.
    if (since && since.getTime() > Date.now()) {
      throw new UsageError('--since must be in the past: the time at which the backup began.');
    }

    const temporal = await openTemporal();
    try {
      const { ended, ...done } = await completeRestore(orm, temporal.client, since);
      const text = [
        `Posts that ended since the backup and that this database lacks: ${done.lackedPosts}.`,
        `Channels that may have been published since, now unconfirmed: ${done.unconfirmedChannels}.`,
        `Posts that are still due, synced again: ${done.syncedPosts}. Deliveries: ${done.syncedDeliveries}.`,
        'The workers continue. Check the accounts, then settle the unconfirmed channels: npm run admin -- post list --unconfirmed',
      ].join('\n');
      return { text, data: { ended, ...done } };
    } finally {
      await temporal.close();
    }
  },
});

export const storage = { adopt: adoptMediaStorage };
export const restore = { finish: finishRestoredDatabase };
export const secretKey = { adopt: adoptSecretKey };

/** Tolerance between the clocks of Temporal and the database, in milliseconds. */
const clocksDifferMs = 60_000;

/**
 * Longest time that a database can lack without its counter showing it, in milliseconds: just below two counts. A
 * change that it lacks is then at most this much younger than the backup.
 */
const unnoticedMs = 2 * 60_000;

/** Temporal's workflow lists lag by about a second. In milliseconds. */
const listLagMs = 2000;

/** Returns a time before the backup. The restored counter may have gone on, and a person may be wrong about `since`. */
function backupTime({ lastAt, behindSince }: RestoreCounter, since: Date | null): Date | null {
  const known = [since, lastAt].flatMap((at) => at?.getTime() ?? []);
  const before = Math.min(...known, (behindSince?.getTime() ?? Infinity) - unnoticedMs);
  return known.length > 0 ? new Date(before - clocksDifferMs) : null;
}

/**
 * @param since When the backup began, unless the database's last count or its first known loss is earlier.
 * @throws AppError when the database is not behind Temporal and no time was given.
 */
export async function completeRestore(
  orm: Orm,
  client: Client,
  since: Date | null,
): Promise<Finished & { readonly ended: readonly string[]; readonly lackedPosts: number }> {
  // Read before the database's count, because workers raise Temporal's count first.
  const known = (await loadStoredCounter(client, await installationId(orm))) ?? 0;
  const counter = await readRestoreCounter(orm);
  if (since === null && counter.behindSince === null && known <= counter.count) {
    const message =
      'The database is not older than its workflows, so nothing was changed. If it was restored (from a backup that is younger than two minutes, or beside a Temporal that was lost or restored), give the time at which the older backup began: --since 2027-03-01T03:00:00Z.';
    throw new AppError('invalid_request', message);
  }

  const from = backupTime(counter, since);
  if (from === null) {
    const message =
      'The backup does not say when it was made. Give the time at which it began: --since 2027-03-01T03:00:00Z.';
    throw new AppError('invalid_request', message);
  }

  await sleep(listLagMs);
  const list = (condition: string): Promise<string[]> => listPosts(client, condition);
  const ended = await list(`ExecutionStatus != 'Running' AND CloseTime > '${from.toISOString()}'`);
  // By the times that the workflows know, which the database may have lost.
  const now = new Date().toISOString();
  const dueByWorkflow = await list(`ExecutionStatus = 'Running' AND DueAt <= '${now}'`).catch(
    emptyIfUnsearchable,
  );
  const { due, at } = await duePosts(orm.em.fork());
  const { sending, ...waiting } = await readRuns(client, dueByWorkflow, due);
  // With a given time Temporal may have been restored too, to before a post was sent.
  const unsent = since === null ? waiting.unsent : [];
  const { whole, lackedPosts } = await compareEnded(orm.em.fork(), client, ended);
  const begun = [...ended.filter((id) => !whole.has(id)), ...sending];
  const done = await orm.em
    .fork()
    .transactional((em) => finishRestore(em, { begun, unsent, at }, known));
  return { ...done, ended, lackedPosts };
}

/** A server without the search attributes refuses the query. */
function emptyIfUnsearchable(error: unknown): string[] {
  if (hasGrpcCode(error, 'invalidArgument')) {
    return [];
  }

  throw error;
}

/** Returns the posts whose workflow meets a condition on its search attributes. */
async function listPosts(client: Client, condition: string): Promise<string[]> {
  const found: string[] = [];
  const which = `WorkflowType = 'publishPost' AND ${condition}`;
  for await (const { workflowId } of client.workflow.list({ query: which })) {
    found.push(workflowId.replace('post-', ''));
  }

  return found;
}

/** Number of concurrent requests for histories. */
const width = 20;

/**
 * Compares the rows of ended posts with their runs.
 *
 * @returns `whole`: posts of which the database lost nothing, since their last run knew nothing newer than the row: failed
 * ones, and drafts whose only run since the backup sent nothing.
 */
async function compareEnded(
  em: Em,
  client: Client,
  ended: readonly string[],
): Promise<{ readonly whole: ReadonlySet<string>; readonly lackedPosts: number }> {
  const rows = await query(
    em,
    sql<{ id: string; revision: number | null; status: PostStatus | null; runs: number }>`
      select e.id, p.revision, p.status, count(*)::int as runs
      from unnest(${ended}::uuid[]) e (id) left join posts p on p.id = e.id group by e.id, p.revision, p.status`,
  );
  const whole = new Set<string>();
  const candidates = rows.filter(
    ({ status, runs }) => status === 'failed' || (status === 'draft' && runs === 1),
  );
  await forEachLimit(candidates, width, async ({ id, revision, status }) => {
    const run = await readLatestRun(client, id);
    const isEnded = run && !run.isRunning && run.revision <= (revision ?? 0);
    const lost = sql`select from posts p where p.id = ${id} and ${lacksResult(run?.published ?? {})}`;
    if (isEnded && (status === 'draft' ? !run.hasSent : (await query(em, lost)).length === 0)) {
      whole.add(id);
    }
  });
  return { whole, lackedPosts: rows.filter(({ revision }) => revision === null).length };
}

/**
 * Returns the posts whose workflow runs, by whether it has begun to send. A due post whose workflow knows a newer
 * revision is in neither list: its new time was lost.
 */
async function readRuns(
  client: Client,
  dueByWorkflow: readonly string[],
  due: ReadonlyMap<string, number>,
): Promise<{ readonly sending: string[]; readonly unsent: string[] }> {
  const [sending, unsent]: [string[], string[]] = [[], []];
  await forEachLimit([...new Set([...dueByWorkflow, ...due.keys()])], width, async (postId) => {
    const run = await readLatestRun(client, postId);
    if (run?.isRunning && run.hasSent) {
      sending.push(postId);
    } else if (run?.isRunning && run.revision <= (due.get(postId) ?? Infinity)) {
      unsent.push(postId);
    }
  });
  return { sending, unsent };
}
