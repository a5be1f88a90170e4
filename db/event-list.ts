import { sql, type RawBuilder } from 'kysely';
import type { EventType } from '../domain/statuses.ts';
import type { Em } from './orm.ts';
import { query, queryPlanned } from './query.ts';

export type EventRow = {
  readonly body: string;
  /** Null before a list has numbered it. */
  readonly sequence: number | null;
  readonly post_id: string | null;
  readonly channel_id: string | null;
};

export type EventSearch = {
  /** The sequence of the last event that the reader has; 0 for none. */
  readonly after: number;
  readonly limit: number;
  /** Empty for all. */
  readonly types: readonly EventType[];
  readonly postId: string | undefined;
  readonly from: Date | undefined;
  /** Exclusive. */
  readonly to: Date | undefined;
};

export async function selectEvent(
  em: Em,
  workspaceId: string,
  id: string,
): Promise<EventRow | undefined> {
  const [row] = await query(
    em,
    sql<EventRow>`
      select body, sequence::float8 as sequence, post_id, channel_id from events
      where id = ${id} and workspace_id = ${workspaceId}`,
  );
  return row;
}

export type Place = {
  /** Sequence of the newest numbered event. */
  readonly last: number;
  /** Sequence of the oldest event that is kept; null without one. */
  readonly oldest: number | null;
  /** Whether there are committed events without a number. */
  readonly has_new: boolean;
};

/** The order in the last column keeps PostgreSQL from looking for the row in the whole table. */
export async function readPlace(em: Em, workspaceId: string): Promise<Place> {
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
export const numberedAtOnce = 5000;

/**
 * Numbers committed events without gaps, one call at a time. Skips rows that the sweep deletes, which itself waits for
 * the workspace. The ids are an array, so that each row is found by its key even in a large table.
 */
export const numberEvents = (em: Em, workspaceId: string): Promise<Place> =>
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

/** Bytes of the bodies of a page of events. A page has one event at least. */
const mostBytes = 2_000_000;

/** Reads a page of numbered events in their order. */
export async function selectEvents(
  em: Em,
  workspaceId: string,
  { after, limit, types, postId, from, to }: EventSearch,
): Promise<{ rows: (EventRow & { readonly sequence: number })[]; hasMore: boolean }> {
  const rows = await queryPlanned(
    em,
    sql<EventRow & { sequence: number; found: number }>`
      select body, sequence, post_id, channel_id, found from (
        select *, (count(*) over ())::int as found,
          sum(octet_length(body)) over (order by sequence) - octet_length(body) as bytes_before
        from (
          select body, sequence::float8 as sequence, post_id, channel_id from events
          where workspace_id = ${workspaceId} and sequence > ${after}
            ${only(types.length > 0, sql`type = any(${types}::text[])`)}
            ${only(postId !== undefined, sql`post_id = ${postId}`)}
            ${only(from !== undefined, sql`created_at >= ${from}`)}
            ${only(to !== undefined, sql`created_at < ${to}`)}
          order by sequence limit ${limit + 1}) next) page
      where bytes_before < ${mostBytes} order by sequence limit ${limit}`,
  );
  return { rows, hasMore: rows.length < (rows[0]?.found ?? 0) };
}

const only = (isGiven: boolean, condition: RawBuilder<unknown>): RawBuilder<unknown> =>
  isGiven ? sql`and ${condition}` : sql``;
