import { setTimeout as pause } from 'node:timers/promises';
import {
  numberedAtOnce,
  numberEvents,
  readPlace,
  selectEvent,
  selectEvents,
  type EventRow,
  type EventSearch,
  type Place,
} from '../../db/event-list.ts';
import type { Em } from '../../db/orm.ts';
import { AppError, wrongValue } from '../../domain/errors.ts';
import type { Json } from '../../domain/json-schema.ts';
import type { ServiceDeps } from '../deps.ts';
import { outsideTurn } from '../turns.ts';

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

const presentEvent = <Row extends EventRow>({
  body,
  sequence,
  post_id,
  channel_id,
}: Row): EventView & { readonly sequence: Row['sequence'] } => {
  const { id, type, created_at, workspace_id, data } = JSON.parse(body) as EventView;
  return { id, type, created_at, workspace_id, data, sequence, post_id, channel_id };
};

/** @returns the event with its body as endpoints get it, byte for byte. */
export async function readEvent(
  em: Em,
  workspaceId: string,
  id: string,
): Promise<EventView & Pick<EventRow, 'sequence' | 'body'>> {
  const row = await selectEvent(em, workspaceId, id);
  if (!row) {
    throw new AppError('not_found', `There is no event "${id}". Events are deleted after a time.`);
  }

  return { ...presentEvent(row), body: row.body };
}

export const maxEventsPage = 100;

/** Longest wait of a call for an event, in seconds. */
export const maxWaitS = 25;

/** Interval between the looks of a waiting call, in milliseconds. One look takes one statement by indexes. */
const lookEachMs = 1000;

type Waiting = {
  readonly waitS: number;
  readonly client: AbortSignal;
  readonly stop: AbortSignal;
  /** Throws once the reader may no longer read. */
  readonly assertStillAllowed: () => Promise<void>;
};

/**
 * Reads the events after a sequence, and waits for one if there is none. Between its looks a waiting call holds no
 * connection of the database. When the process stops, it answers at once.
 */
export async function pullEvents(
  { orm }: Pick<ServiceDeps, 'orm'>,
  workspaceId: string,
  search: EventSearch,
  { waitS, client, stop, assertStillAllowed }: Waiting,
): ReturnType<typeof readPage> {
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
    const end = pause(Math.min(leftMs, lookEachMs), undefined, { signal });
    await outsideTurn(() => end.catch(() => undefined));
    client.throwIfAborted();
    await assertStillAllowed();
  }
}

/**
 * Numbers the committed events, then reads in the order of the numbers. A reader that remembers its place misses no
 * event, however late its transaction commits: the event gets the next number then.
 */
async function readPage(em: Em, workspaceId: string, search: EventSearch) {
  const { after } = search;
  const before = await readPlace(em, workspaceId);
  const place = before.has_new ? await numberEvents(em, workspaceId) : before;
  const isPart = place.last - before.last >= numberedAtOnce;
  if (after > place.last) {
    const message = `is beyond ${place.last}, the newest event: the number is of another workspace, or the database was restored from a backup. Begin again without it`;
    throw wrongValue('?after', message);
  }

  const { rows, hasMore: isFull } =
    place.last > after ? await selectEvents(em, workspaceId, search) : { rows: [], hasMore: false };
  const events = rows.map(presentEvent);
  const last = events.at(-1)?.sequence ?? after;
  return {
    events,
    next_after: isFull ? last : Math.max(last, place.last),
    has_more: isFull || isPart,
    missed: missedOf(after, place),
  };
}

/** The events between a reader's place and the oldest that is kept. A reader without a place begins with the oldest. */
const missedOf = (after: number, { oldest, last }: Place) => {
  const next = oldest ?? last + 1;
  return after > 0 && next > after + 1 ? { from: after + 1, to: next - 1 } : null;
};
