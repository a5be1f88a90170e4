import { setTimeout as pause } from 'node:timers/promises';
import { sql, type RawBuilder } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { query, queryPlanned } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import type { Json } from '../../domain/json-schema.ts';
import type { EventType } from '../../domain/statuses.ts';
import type { ServiceDeps } from '../deps.ts';

/** An event as a reader sees it: its body, and the fields that the body lacks. */
type EventView = {
  readonly id: string;
  readonly type: string;
  readonly created_at: string;
  readonly workspace_id: string;
  readonly data: { readonly [name: string]: Json };
  readonly post_id: string | null;
  readonly channel_id: string | null;
};

type EventRow = Pick<EventView, 'post_id' | 'channel_id'> & {
  readonly body: string;
  /** Null before a list has numbered it. */
  readonly sequence: number | null;
};

const presentEvent = <Row extends EventRow>({
  body,
  sequence,
  post_id,
  channel_id,
}: Row): EventView & { readonly sequence: Row['sequence'] } => {
  const { id, type, created_at, workspace_id, data } = JSON.parse(body) as EventView;
  return { id, type, created_at, workspace_id, data, sequence, post_id, channel_id };
};

/** @returns the event with its body as endpoints get it, byte for byte. @throws AppError `not_found` */
export async function readEvent(
  em: Em,
  workspaceId: string,
  id: string,
): Promise<EventView & Pick<EventRow, 'sequence' | 'body'>> {
  const [row] = await query(
    em,
    sql<EventRow>`
      select body, sequence::float8 as sequence, post_id, channel_id from events
      where id = ${id} and workspace_id = ${workspaceId}`,
  );
  if (!row) {
    throw new AppError('not_found', `There is no event "${id}". Events are deleted after a time.`);
  }

  return { ...presentEvent(row), body: row.body };
}

/** Default and maximum of events per page. */
export const maxEventsPage = 100;

/** Longest wait of a call for an event, in seconds. */
export const maxWaitS = 25;

/** Interval between the looks of a waiting call, in milliseconds. One look takes one statement by indexes. */
const lookEachMs = 1000;

export type EventSearch = {
  /** The sequence of the last event that the reader has; 0 for none. */
  readonly after: number;
  readonly limit: number;
  /** Empty for all. */
  readonly types: readonly EventType[];
  readonly postId: string | undefined;
  /** Inclusive. */
  readonly from: Date | undefined;
  /** Exclusive. */
  readonly to: Date | undefined;
};

export type EventsPage = {
  readonly events: readonly (EventView & { readonly sequence: number })[];
  readonly next_after: number;
  readonly has_more: boolean;
  readonly missed: { readonly from: number; readonly to: number } | null;
};

type Waiting = {
  readonly waitS: number;
  /** Aborts when the client hangs up. */
  readonly client: AbortSignal;
  /** Aborts when this process stops. */
  readonly stop: AbortSignal;
  /** Throws once the reader may no longer read. */
  readonly assertStillAllowed: () => Promise<void>;
};

/**
 * Reads the events after a sequence, and waits for one if there is none. Between its looks a waiting call holds no
 * connection of the database. When the process stops, it answers at once.
 *
 * @throws AppError `invalid_request` if `after` is beyond the newest event.
 */
export async function pullEvents(
  { orm }: Pick<ServiceDeps, 'orm'>,
  workspaceId: string,
  search: EventSearch,
  { waitS, client, stop, assertStillAllowed }: Waiting,
): Promise<EventsPage> {
  const endMs = performance.now() + waitS * 1000;
  let { after } = search;
  for (;;) {
    const page = await readPage(orm.em.fork(), workspaceId, { ...search, after });
    const leftMs = endMs - performance.now();
    const isEmpty = page.events.length === 0 && !page.has_more && page.missed === null;
    if (!isEmpty || leftMs <= 0 || stop.aborted) {
      return page;
    }

    after = page.next_after;
    const signal = AbortSignal.any([client, stop]);
    await pause(Math.min(leftMs, lookEachMs), undefined, { signal }).catch(() => undefined);
    client.throwIfAborted();
    await assertStillAllowed();
  }
}

/**
 * Numbers the committed events, then reads in the order of the numbers. A reader that remembers its place misses no
 * event, however late its transaction commits: the event gets the next number then.
 */
async function readPage(em: Em, workspaceId: string, search: EventSearch): Promise<EventsPage> {
  const { after, limit } = search;
  const before = await readPlace(em, workspaceId);
  const place = before.has_new ? await numberEvents(em, workspaceId) : before;
  const isPart = place.last - before.last >= numberedAtOnce;
  if (after > place.last) {
    const message = `is beyond ${place.last}, the newest event: the number is of another workspace, or the database was restored from a backup. Begin again without it`;
    const details = [{ path: '?after', message }];
    throw new AppError('invalid_request', `?after ${message}.`, { details });
  }

  // One row beyond the page tells whether there are more.
  const rows = place.last > after ? await selectEvents(em, workspaceId, search) : [];
  const events = rows.slice(0, limit).map(presentEvent);
  const isFull = rows.length > limit;
  const last = events.at(-1)?.sequence ?? after;
  return {
    events,
    next_after: isFull ? last : Math.max(last, place.last),
    has_more: isFull || isPart,
    missed: missedOf(after, place),
  };
}

/** The events between a reader's place and the oldest that is kept. A reader without a place begins with the oldest. */
const missedOf = (after: number, { oldest, last }: Place): EventsPage['missed'] => {
  const next = oldest ?? last + 1;
  return after > 0 && next > after + 1 ? { from: after + 1, to: next - 1 } : null;
};

type Place = {
  /** Sequence of the newest numbered event. */
  readonly last: number;
  /** Sequence of the oldest event that is kept; null without one. */
  readonly oldest: number | null;
  /** Whether there are committed events without a number. */
  readonly has_new: boolean;
};

/** The order in the last column keeps PostgreSQL from looking for the row in the whole table. */
async function readPlace(em: Em, workspaceId: string): Promise<Place> {
  const [place] = await query(
    em,
    sql<Place>`
      select last_event_sequence::float8 as last,
        (select min(sequence) from events where workspace_id = ${workspaceId} and sequence is not null)::float8 as oldest,
        (select id from events where workspace_id = ${workspaceId} and sequence is null
          order by created_at, id limit 1) is not null as has_new
      from workspaces where id = ${workspaceId}`,
  );
  return place ?? { last: 0, oldest: null, has_new: false };
}

/** Events that one call numbers; the next calls number the rest. */
const numberedAtOnce = 5000;

/**
 * Numbers committed events without gaps. The lock on the workspace lets one call number at a time, and the statement
 * after it sees the numbers of the call before. Skips rows that the sweep deletes, which itself waits for the
 * workspace. The ids are an array, so that each row is found by its key even in a large table.
 */
const numberEvents = (em: Em, workspaceId: string): Promise<Place> =>
  em.transactional(async (tx) => {
    await query(tx, sql`select id from workspaces where id = ${workspaceId} for no key update`);
    await query(
      tx,
      sql`with found as materialized (
          select id, created_at from events where workspace_id = ${workspaceId} and sequence is null
          order by created_at, id limit ${sql.lit(numberedAtOnce)} for no key update skip locked),
        placed as (select id, row_number() over (order by created_at, id) as place from found),
        counted as (
          update workspaces set last_event_sequence = last_event_sequence + (select count(*) from placed)
          where id = ${workspaceId} returning last_event_sequence - (select count(*) from placed) as before)
        update events e set sequence = counted.before + placed.place
        from placed, counted
        where e.id = placed.id and e.id = any(array(select id from found)) and e.workspace_id = ${workspaceId}`,
    );
    return readPlace(tx, workspaceId);
  });

const selectEvents = (
  em: Em,
  workspaceId: string,
  { after, limit, types, postId, from, to }: EventSearch,
): Promise<(EventRow & { readonly sequence: number })[]> =>
  queryPlanned(
    em,
    sql`select body, sequence::float8 as sequence, post_id, channel_id from events
      where workspace_id = ${workspaceId} and sequence > ${after}
        ${only(types.length > 0, sql`type = any(${types}::text[])`)}
        ${only(postId !== undefined, sql`post_id = ${postId}`)}
        ${only(from !== undefined, sql`created_at >= ${from}`)}
        ${only(to !== undefined, sql`created_at < ${to}`)}
      order by sequence limit ${limit + 1}`,
  );

const only = (isGiven: boolean, condition: RawBuilder<unknown>): RawBuilder<unknown> =>
  isGiven ? sql`and ${condition}` : sql``;
