import { ask } from '../../db/ask.ts';
import { answeringMs, failuresToPause, slotsPerServer } from '../../domain/server-health.ts';
import { NetworkError, type ServerEvidence } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import { heartbeating } from '../heartbeating.ts';
import { parkJoins } from './park.ts';
import { closeCircuit, countFailure } from './server-circuit.ts';
import type { PublishTarget } from './target.ts';

/** How long a place is held without a word, in seconds: a try that lives renews it with its heartbeats, every 5 s. */
const heldForS = 15;

/**
 * Of a server's places, in quarters, what the tries of one workspace may hold: a crowd of posts leaves room for others.
 * Those that begin at the same moment do not see each other, so it may be a few more.
 */
const share = 3;

const ofServer = (alias: string): string =>
  `${alias}.platform = c.platform and ${alias}.base_url = c.base_url`;
const isHeld = (alias: string): string => `${alias}.taken_until > clock_timestamp()`;

/**
 * Part of a statement, as `place`: takes a place at the server of the channel $1 of a post in workspace $2, if the channel is
 * open, no rate limit lasts at the instant $4, and the server has one. Places are rows that nobody waits for, so a
 * try that finds none hears so at once. A try that comes after a dead worker's takes over its place.
 */
export const takePlace = `room as materialized (
    select c.platform, c.base_url,
      case when circuit.failures >= ${failuresToPause}
        then case when circuit.open_until <= clock_timestamp() then 1 else 0 end
        when exists (select 1 from server_places a
          where ${ofServer('a')} and a.answered_at > clock_timestamp() - interval '${answeringMs} milliseconds')
        then ${slotsPerServer.answering} else ${slotsPerServer.silent} end as places,
      (select count(*) from server_places own
        where ${ofServer('own')} and own.workspace_id = $2 and own.post_channel_id <> $1 and ${isHeld('own')}) as own
    from post_channels pc
    join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
    left join server_circuits circuit on ${ofServer('circuit')}
    ${parkJoins}
    where pc.id = $1 and pc.workspace_id = $2
      and pc.status in ('scheduled', 'publishing', 'retrying')
      and not coalesce(greatest(c.parked_until, server.parked_until, network.parked_until) > $4, false)),
  free as (
    select s.platform, s.base_url, s.place
    from room join server_places s on s.platform = room.platform and s.base_url = room.base_url
    where s.place < room.places and 4 * room.own < ${share} * room.places
      and (s.taken_until is null or not ${isHeld('s')} or s.post_channel_id = $1)
    order by s.post_channel_id = $1 desc nulls last, s.place limit 1 for update of s skip locked),
  place as (
    update server_places s set workspace_id = $2, post_channel_id = $1, taken_at = clock_timestamp(),
      taken_until = clock_timestamp() + interval '${heldForS} seconds'
    from free where s.platform = free.platform and s.base_url = free.base_url and s.place = free.place
    returning s.place)`;

/**
 * Of a statement that has the channel as `c` and {@link takePlace} before it: the place that was taken, and what a try
 * without one waits for.
 */
export const placeColumns = `(select place from place) as place,
  exists (select 1 from server_places s where ${ofServer('s')}) as has_places,
  circuit.failures >= ${failuresToPause} as is_paused, circuit.failures,
  (extract(epoch from circuit.open_until - clock_timestamp()) * 1000)::float8 as paused_for_ms,
  case when not exists (select 1 from place) then (
    select (extract(epoch from clock_timestamp() - max(s.taken_at)) * 1000)::float8
    from server_places s where ${ofServer('s')} and ${isHeld('s')}) end as newest_for_ms`;
export const circuitJoin = `left join server_circuits circuit on ${ofServer('circuit')}`;

export type PlaceRow = {
  place: number | null;
  has_places: boolean;
  is_paused: boolean | null;
  failures: number | null;
  paused_for_ms: number | null;
  newest_for_ms: number | null;
};

/** The server of a try's channel. */
export type Server = {
  /** Held for this try; null when there was none. */
  readonly place: number | null;
  /** How many tries in a row it did not answer. */
  readonly failures: number;
  readonly isPaused: boolean;
  readonly pausedForMs: number;
  readonly newestForMs: number;
};

export const serverOf = (row: PlaceRow): Server => ({
  place: row.place,
  failures: row.failures ?? 0,
  isPaused: row.is_paused ?? false,
  pausedForMs: Math.max(row.paused_for_ms ?? 0, 0),
  newestForMs: Math.max(row.newest_for_ms ?? 0, 0),
});

/** Makes the places of the server of a channel that was never tried. Safe to repeat, and side by side. */
export async function makePlaces(
  deps: ActivityDeps,
  { postChannelId, workspaceId }: Pick<PublishTarget, 'postChannelId' | 'workspaceId'>,
): Promise<void> {
  await ask(
    deps.orm.em.fork(),
    `insert into server_places (platform, base_url, place)
     select c.platform, c.base_url, place
     from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id,
       generate_series(0, $3::int - 1) as place
     where pc.id = $1 and pc.workspace_id = $2 on conflict do nothing`,
    [postChannelId, workspaceId, slotsPerServer.answering],
  );
}

/**
 * Part of a statement: gives back the place of a try, unless another has it by now. It waits for nobody, so that it may
 * stand behind any lock: who has the row locked is taking it.
 *
 * @param first The number of the first of the values that `placeValues` gives.
 * @param answered Whether the server answered the try: an expression in SQL.
 */
export const leavePlace = (first: number, answered: string): string => `update server_places s
  set taken_until = null, post_channel_id = null,
    answered_at = case when ${answered} then clock_timestamp() else s.answered_at end
  from (select platform, base_url, place from server_places
    where platform = $${first} and base_url = $${first + 1} and place = $${first + 2}
      and post_channel_id = $${first + 3} for update skip locked) mine
  where s.platform = mine.platform and s.base_url = mine.base_url and s.place = mine.place`;

export const placeValues = ({ platform, baseUrl, server, postChannelId }: PublishTarget) => [
  platform,
  baseUrl,
  server.place,
  postChannelId,
];

/** Gives back the place of a try that ended without a word about its server. */
export const giveBack = (deps: ActivityDeps, target: PublishTarget): Promise<void> =>
  endAt(deps, target, undefined);

/**
 * Makes a try at its server. While it lasts it keeps its place; if it fails, the place is free and what the failure tells
 * of the server is remembered before anything else. What it ends with otherwise gives the place back (`recordPublished`).
 */
export async function atServer<T>(
  deps: ActivityDeps,
  target: PublishTarget,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await heartbeating(work, () => keepPlace(deps, target));
  } catch (error) {
    const heard = error instanceof NetworkError ? error.server : undefined;
    // Left out, the place is free after a while all the same.
    await endAt(deps, target, heard).catch(() => undefined);
    throw error;
  }
}

async function endAt(
  deps: ActivityDeps,
  target: PublishTarget,
  heard: ServerEvidence | undefined,
): Promise<void> {
  if (target.server.place === null && heard === undefined) {
    return;
  }

  const circuit =
    heard && `, circuit as (${heard === 'answered' ? closeCircuit(1) : countFailure(1)})`;
  await ask(
    deps.orm.em.fork(),
    `with place as (${leavePlace(1, `${heard === 'answered'}`)})${circuit ?? ''} select 1`,
    placeValues(target),
  );
}

/** Another may have the place by now, if this worker was silent for long. */
async function keepPlace(deps: ActivityDeps, target: PublishTarget): Promise<void> {
  await ask(
    deps.orm.em.fork(),
    `update server_places set taken_until = clock_timestamp() + interval '${heldForS} seconds'
     where platform = $1 and base_url = $2 and place = $3 and post_channel_id = $4`,
    placeValues(target),
  );
}
