import type { WorkflowState } from '../../domain/workflow-state.ts';
import { sideBySide } from '../../runtime/side-by-side.ts';

/** Temporal is asked of so many rows at once, each by itself. */
const width = 20;

/** How many rows are claimed in one go, and how many of them Temporal is asked to list in one query. */
const batchSize = 1000;
const listedAtOnce = 200;

/**
 * How many rows of a kind one sweep asks of by themselves although nothing is wrong with them: of those that Temporal
 * lists as running, as a list may show what is gone, and of those that it does not list, as a list may be behind.
 */
const maxListed = 300;
const maxUnlisted = 3000;

/** So many rows without an answer mean that Temporal is away: it is not asked any more this time. */
const patience = 5;

/** So many lost ones in one go are no accident: Temporal lost data, and all are looked at, nearest time first. */
const manyLost = 10;

export type LookedThrough = {
  readonly looked: number;
  readonly unanswered: number;
  readonly lost: number;
  /** The time was up before all were looked at. */
  readonly isCutShort: boolean;
};

type Answer = Exclude<WorkflowState, 'unknown' | 'gone'>;

/** What goes on as long as one sweep does. */
export type Sweeping = {
  readonly beganAt: Date;
  /** Temporal lost data: how long ago a row was looked at says nothing any more. */
  isAlarm: boolean;
};

type Search<Row> = {
  readonly sweeping: Sweeping;
  /** Until when, by `performance.now()`. */
  readonly untilMs: number;
  /** Claims rows for this sweep alone: no other one gets them for a while. */
  readonly take: (limit: number) => Promise<readonly Row[]>;
  /** Gives rows back that were not looked at. */
  readonly letGo: (rows: readonly Row[]) => Promise<void>;
  /** Ids of those that Temporal lists as running; null when it does not say. */
  readonly list: (ids: readonly string[]) => Promise<ReadonlySet<string> | null>;
  readonly ask: (row: Row) => Promise<WorkflowState>;
  readonly judge: (row: Row, state: Answer) => Promise<void>;
  /** Starts anew what is gone. @returns how many were. */
  readonly heal: (rows: readonly Row[]) => Promise<number>;
};

type Sums = { looked: number; unanswered: number; lost: number; listed: number; unlisted: number };

/**
 * Asks Temporal about rows. A list of what runs costs it little, so that a hundred thousand rows that wait hide no lost
 * one among them; but lists are behind, so that nothing is concluded from them: what they lack is asked of by itself. It
 * goes on for as long as it finds something, and of what Temporal does not answer nothing is concluded.
 */
export async function lookThrough<Row extends { readonly id: string }>(
  search: Search<Row>,
): Promise<LookedThrough> {
  const sums = { looked: 0, unanswered: 0, lost: 0, listed: 0, unlisted: 0 };
  const isTimeUp = (): boolean => performance.now() > search.untilMs;
  let isCutShort = false;
  for (let goesOn = true; goesOn && !isCutShort && !isOver(sums);) {
    const { isAlarm } = search.sweeping;
    const rows = await search.take(batchSize);
    await lookAt(search, rows, sums, isTimeUp);
    goesOn = rows.length === batchSize || search.sweeping.isAlarm !== isAlarm;
    isCutShort = goesOn && isTimeUp();
  }

  const { looked, unanswered, lost } = sums;
  return { looked, unanswered, lost, isCutShort };
}

const isOver = ({ unanswered, unlisted }: Sums): boolean =>
  unanswered >= patience || unlisted >= maxUnlisted;

async function lookAt<Row extends { readonly id: string }>(
  search: Search<Row>,
  rows: readonly Row[],
  sums: Sums,
  isTimeUp: () => boolean,
): Promise<void> {
  const runs = await listAll(search, rows);
  const gone: Row[] = [];
  const left: Row[] = [];
  const isListed = ({ id }: Row): boolean => runs.has(id);
  const inTurn = [...rows.filter((row) => !isListed(row)), ...rows.filter(isListed)];
  await sideBySide(inTurn, width, async (row) => {
    const kind = isListed(row) ? 'listed' : 'unlisted';
    if (kind === 'listed' && sums.listed >= maxListed) {
      sums.looked += 1;
      return;
    }

    const state = isOver(sums) || isTimeUp() ? null : await search.ask(row);
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
    await search.judge(row, state);
  });
  sums.lost += gone.length === 0 ? 0 : await search.heal(gone);
  search.sweeping.isAlarm ||= gone.length >= manyLost;
  await (left.length > 0 && search.letGo(left));
}

/** @returns an empty set when Temporal does not list any: then all are asked of by themselves. */
async function listAll<Row extends { readonly id: string }>(
  { list }: Search<Row>,
  rows: readonly Row[],
): Promise<Set<string>> {
  const runs = new Set<string>();
  const parts = Array.from({ length: Math.ceil(rows.length / listedAtOnce) }, (_, index) =>
    rows.slice(index * listedAtOnce, (index + 1) * listedAtOnce),
  );
  await sideBySide(parts, 2, async (part) => {
    for (const id of (await list(part.map((row) => row.id))) ?? []) {
      runs.add(id);
    }
  });
  return runs;
}
