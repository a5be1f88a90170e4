import { sql } from 'kysely';
import type { FindKind } from '../../db/entities/operations.ts';
import { newId } from '../../db/new-id.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import type { WorkflowState } from '../../domain/statuses.ts';
import { forEachLimit } from '../../runtime/concurrency.ts';
import type { ActivityDeps } from '../deps.ts';

/** Number of concurrent requests for the state of single rows. */
const width = 20;

/** Rows per claim, and rows per list request. */
const batchSize = 1000;
const listedAtOnce = 200;

/**
 * Limits of single requests per scan for rows that turn out fine: for rows that Temporal lists as running, because a
 * list may contain lost workflows, and for rows that it does not list, because a list may be outdated.
 */
const maxListed = 300;
const maxUnlisted = 3000;

/** After this many requests without an answer Temporal counts as unavailable, and the scan ends. */
const maxUnanswered = 5;

/** This many lost rows in one batch mean that Temporal lost data: all rows are scanned, nearest time first. */
const manyLost = 10;

export type Scanned = {
  readonly looked: number;
  readonly unanswered: number;
  readonly lost: number;
  /** The time was up before the end of the scan. */
  readonly isCutShort: boolean;
};

type Answer = Exclude<WorkflowState, 'unknown' | 'gone'>;

/** State shared by the scans of one sweep. */
export type Sweeping = {
  readonly beganAt: Date;
  /** Temporal lost data, so earlier scans of a row prove nothing. */
  isAlarm: boolean;
};

type Scan<Row> = {
  readonly sweeping: Sweeping;
  /** Deadline by `performance.now()`. */
  readonly untilMs: number;
  /** Claims rows for this sweep; other sweeps skip them for a while. */
  readonly claim: (limit: number) => Promise<readonly Row[]>;
  /** Releases rows that were not scanned. */
  readonly release: (rows: readonly Row[]) => Promise<void>;
  /** Returns the ids that Temporal lists as running; null without an answer. */
  readonly list: (ids: readonly string[]) => Promise<ReadonlySet<string> | null>;
  readonly stateOf: (row: Row) => Promise<WorkflowState>;
  readonly check: (row: Row, state: Answer) => Promise<void>;
  /** Starts the workflows of rows that have none. @returns how many it started. */
  readonly restart: (rows: readonly Row[]) => Promise<number>;
};

type Sums = { looked: number; unanswered: number; lost: number; listed: number; unlisted: number };

/**
 * Compares rows with their workflows. List requests are cheap for Temporal, so a lost row is found even among 100,000
 * waiting ones. Lists may be outdated, so each row that is missing from them is requested on its own. The scan
 * continues while it finds lost rows. Without an answer it changes nothing.
 */
export async function scanRows<Row extends { readonly id: string }>(
  scan: Scan<Row>,
): Promise<Scanned> {
  const sums = { looked: 0, unanswered: 0, lost: 0, listed: 0, unlisted: 0 };
  const isTimeUp = (): boolean => performance.now() > scan.untilMs;
  let isCutShort = false;
  for (let goesOn = true; goesOn && !isCutShort && !isOver(sums);) {
    const { isAlarm } = scan.sweeping;
    const rows = await scan.claim(batchSize);
    await scanBatch(scan, rows, sums, isTimeUp);
    goesOn = rows.length === batchSize || scan.sweeping.isAlarm !== isAlarm;
    isCutShort = goesOn && isTimeUp();
  }

  const { looked, unanswered, lost } = sums;
  return { looked, unanswered, lost, isCutShort };
}

const isOver = ({ unanswered, unlisted }: Sums): boolean =>
  unanswered >= maxUnanswered || unlisted >= maxUnlisted;

async function scanBatch<Row extends { readonly id: string }>(
  scan: Scan<Row>,
  rows: readonly Row[],
  sums: Sums,
  isTimeUp: () => boolean,
): Promise<void> {
  const runs = await listAll(scan, rows);
  const gone: Row[] = [];
  const left: Row[] = [];
  const isListed = ({ id }: Row): boolean => runs.has(id);
  const unlistedFirst = [...rows.filter((row) => !isListed(row)), ...rows.filter(isListed)];
  await forEachLimit(unlistedFirst, width, async (row) => {
    const kind = isListed(row) ? 'listed' : 'unlisted';
    if (kind === 'listed' && sums.listed >= maxListed) {
      sums.looked += 1;
      return;
    }

    const state = isOver(sums) || isTimeUp() ? null : await scan.stateOf(row);
    if (state === null || state === 'unknown') {
      sums.unanswered += state === null ? 0 : 1;
      left.push(row);
      return;
    }

    sums.looked += 1;
    if (state === 'gone') {
      gone.push(row);
      if (kind === 'listed') {
        runs.clear(); // The list contains a lost workflow, so it cannot be trusted.
      }

      return;
    }

    sums[kind] += 1;
    await scan.check(row, state);
  });
  sums.lost += gone.length === 0 ? 0 : await scan.restart(gone);
  scan.sweeping.isAlarm ||= gone.length >= manyLost;
  await (left.length > 0 && scan.release(left));
}

/** @returns an empty set if Temporal lists none; then each row is requested on its own. */
async function listAll<Row extends { readonly id: string }>(
  { list }: Scan<Row>,
  rows: readonly Row[],
): Promise<Set<string>> {
  const runs = new Set<string>();
  const parts = Array.from({ length: Math.ceil(rows.length / listedAtOnce) }, (_, index) =>
    rows.slice(index * listedAtOnce, (index + 1) * listedAtOnce),
  );
  await forEachLimit(parts, 2, async (part) => {
    for (const id of (await list(part.map((row) => row.id))) ?? []) {
      runs.add(id);
    }
  });
  return runs;
}

/** A row that was scanned: a delivery for `delivery_gone`, otherwise a post. */
type FoundRow = { readonly id: string; readonly workspace_id: string };

/** Log at most this many finds of one batch on lines of their own. */
const maxLines = 20;

/**
 * Repairs the rows and stores the finds, in one transaction.
 *
 * @param repair @returns the ids of rows unchanged since the scan; the others were not broken.
 * @returns the number of finds.
 */
export async function recordSweepFinds<Row extends FoundRow>(
  { orm, log, now }: ActivityDeps,
  kind: FindKind,
  rows: readonly Row[],
  repair: (em: Em, rows: readonly Row[]) => Promise<readonly { readonly id: string }[]>,
): Promise<number> {
  const finds = await orm.em.fork().transactional(async (em) => {
    const repaired = new Set((await repair(em, rows)).map(({ id }) => id));
    const found = rows.filter(({ id }) => repaired.has(id));
    if (found.length > 0) {
      await insertFinds(em, kind, found, now());
    }

    return found;
  });
  for (const { id, workspace_id: workspace } of finds.slice(0, maxLines)) {
    const row = kind === 'delivery_gone' ? { delivery: id } : { post: id };
    log.warn({ ...row, workspace, find: kind }, sentences[kind]);
  }

  if (finds.length > maxLines) {
    log.warn({ find: kind, more: finds.length - maxLines }, 'further finds of this kind');
  }

  return finds.length;
}

async function insertFinds(
  em: Em,
  kind: FindKind,
  found: readonly FoundRow[],
  at: Date,
): Promise<void> {
  const column = sql.ref(kind === 'delivery_gone' ? 'delivery_id' : 'post_id');
  const ids = found.map(() => newId());
  await query(
    em,
    sql`insert into sweep_finds (id, workspace_id, ${column}, kind, found_at)
      select id, workspace_id, found_id, ${kind}::text, ${at}::timestamptz
      from unnest(${ids}::uuid[], ${found.map((row) => row.workspace_id)}::uuid[], ${found.map(({ id }) => id)}::uuid[])
        as finds (id, workspace_id, found_id)`,
  );
}

const sentences: Readonly<Record<FindKind, string>> = {
  workflow_gone: 'this post has no running workflow, its start goes to the outbox',
  overdue: 'overdue post without a known reason',
  delivery_gone: 'this delivery has no running workflow, its start goes to the outbox',
};
