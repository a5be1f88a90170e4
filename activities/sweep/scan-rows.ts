import type { WorkflowState } from '../../domain/workflow-state.ts';
import { forEachLimit } from '../../runtime/for-each-limit.ts';

/** How many requests for the state of a single row are under way at once. */
const width = 20;

/** How many rows are claimed in one go, and how many of them are in one request for a list. */
const batchSize = 1000;
const listedAtOnce = 200;

/**
 * For how many rows of a kind one scan requests the state of each although nothing is wrong with them: of those that
 * Temporal lists as running, as a list may show what is gone, and of those that it does not list, as a list may be behind.
 */
const maxListed = 300;
const maxUnlisted = 3000;

/** So many rows without an answer mean that Temporal is away: this scan ends. */
const maxUnanswered = 5;

/** So many lost rows in one batch are no accident: Temporal lost data, and all rows are scanned, nearest time first. */
const manyLost = 10;

export type Scanned = {
  readonly looked: number;
  readonly unanswered: number;
  readonly lost: number;
  /** The time was up before all rows were scanned. */
  readonly isCutShort: boolean;
};

type Answer = Exclude<WorkflowState, 'unknown' | 'gone'>;

/** What the scans of one sweep share. */
export type Sweeping = {
  readonly beganAt: Date;
  /** Temporal lost data: how long ago a row was scanned says nothing any more. */
  isAlarm: boolean;
};

type Scan<Row> = {
  readonly sweeping: Sweeping;
  /** Until when, by `performance.now()`. */
  readonly untilMs: number;
  /** Claims rows for this sweep alone: no other one gets them for a while. */
  readonly claim: (limit: number) => Promise<readonly Row[]>;
  /** Gives up the claim of rows that were not scanned. */
  readonly release: (rows: readonly Row[]) => Promise<void>;
  /** Ids of those that Temporal lists as running; null without an answer. */
  readonly list: (ids: readonly string[]) => Promise<ReadonlySet<string> | null>;
  readonly stateOf: (row: Row) => Promise<WorkflowState>;
  readonly check: (row: Row, state: Answer) => Promise<void>;
  /** Starts the workflows of rows that have none. @returns how many there were. */
  readonly restart: (rows: readonly Row[]) => Promise<number>;
};

type Sums = { looked: number; unanswered: number; lost: number; listed: number; unlisted: number };

/**
 * Compares rows with their workflows. A list of what runs costs Temporal little, so that a hundred thousand rows that wait
 * hide no lost one among them; but lists are behind, so that nothing is concluded from them: each row that they lack gets
 * a request of its own. It goes on for as long as it finds something, and without an answer it concludes nothing.
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
        runs.clear(); // A list that shows what is gone is not believed.
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

/** @returns an empty set where Temporal lists none: then each row gets a request of its own. */
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
