import { sql, type RawBuilder } from 'kysely';
import { isOpenChannel } from '../../db/channel-status.ts';
import { isLimited, limitJoins } from '../../db/network-limits.ts';
import { query } from '../../db/query.ts';
import {
  answeringMs,
  failuresToPause,
  mostPerWorkspace,
  pauses,
  slotsPerServer,
} from '../../domain/server-health.ts';
import { NetworkError, type ServerEvidence } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import { heartbeating } from '../heartbeating.ts';
import type { PublishJob, PublishRequest, ServerSlot } from './job.ts';

/** Lifetime of a slot. A running attempt renews it with its heartbeats, every 5 s. */
const heldFor = sql.raw("interval '15 seconds'");

/**
 * Share of a server's slots that one workspace may hold, in quarters, so that others get some. Attempts that begin at
 * the same moment do not see each other, so it may be a few more.
 */
const share = sql.lit(3);

const toPause = sql.lit(failuresToPause);

/**
 * The server of the channel `c`: its base URL without the path, because one host can answer under any number of paths.
 * The SQL and the function below must agree.
 */
const serverOfChannel = sql`coalesce(substring(c.base_url from '^[^/]+//[^/]+'), c.base_url)`;
const serverOf = ({ baseUrl }: Pick<PublishJob, 'baseUrl'>): string =>
  /^[^\/]+\/\/[^\/]+/v.exec(baseUrl)?.[0] ?? baseUrl;

/** SQL: rows of the server of the channel `c`. */
const ofServer = (alias: string) =>
  sql`${sql.ref(`${alias}.platform`)} = c.platform and ${sql.ref(`${alias}.base_url`)} = ${serverOfChannel}`;
const isHeld = (alias: string) => sql`${sql.ref(`${alias}.taken_until`)} > clock_timestamp()`;

/**
 * SQL, part `slot` of a statement: takes a slot at the channel's server, if the channel is open, no rate limit is in
 * force and a slot is free. SKIP LOCKED: an attempt that gets none returns at once. An attempt after a dead worker's
 * takes over its slot.
 */
export const takeServerSlot = ({ workspaceId, postChannelId }: PublishRequest, now: Date) => sql`
  room as materialized (
    select c.platform, ${serverOfChannel} as base_url,
      case when circuit.failures >= ${toPause}
        then case when circuit.open_until <= clock_timestamp() then 1 else 0 end
        when exists (select 1 from server_places a
          where ${ofServer('a')} and a.answered_at > clock_timestamp() - ${sql.lit(answeringMs)} * interval '1 millisecond')
        then ${sql.lit(slotsPerServer.answering)} else ${sql.lit(slotsPerServer.silent)} end as slots,
      (select count(*) from server_places own
        where ${ofServer('own')} and own.workspace_id = ${workspaceId}
          and own.post_channel_id <> ${postChannelId} and ${isHeld('own')}) as own,
      (select count(*) from server_places every
        where every.platform = c.platform and every.workspace_id = ${workspaceId}
          and every.post_channel_id <> ${postChannelId} and ${isHeld('every')}) as everywhere
    from post_channels pc
    join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
    left join server_circuits circuit on ${ofServer('circuit')}
    ${limitJoins}
    where pc.id = ${postChannelId} and pc.workspace_id = ${workspaceId} and ${isOpenChannel} and c.disconnected_at is null
      and not ${isLimited(now)}),
  free as (
    select s.platform, s.base_url, s.place
    from room join server_places s on s.platform = room.platform and s.base_url = room.base_url
    where s.place < room.slots and 4 * room.own < ${share} * room.slots
      and room.everywhere < ${sql.lit(mostPerWorkspace)}
      and (s.taken_until is null or not ${isHeld('s')} or s.post_channel_id = ${postChannelId})
    order by s.post_channel_id = ${postChannelId} desc nulls last, s.place limit 1 for update of s skip locked),
  slot as (
    update server_places s set workspace_id = ${workspaceId}, post_channel_id = ${postChannelId},
      taken_at = clock_timestamp(), taken_until = clock_timestamp() + ${heldFor}
    from free where s.platform = free.platform and s.base_url = free.base_url and s.place = free.place
    returning s.place)`;

/**
 * SQL for a statement with the channel as `c` and {@link takeServerSlot} before it: the slot that was taken, and the state of
 * the server for an attempt that got none.
 */
export const serverSlotColumns = sql`(select place from slot) as slot,
  exists (select 1 from server_places s where ${ofServer('s')}) as has_slots,
  circuit.failures >= ${toPause} as is_paused, circuit.failures,
  (extract(epoch from circuit.open_until - clock_timestamp()) * 1000)::float8 as paused_for_ms,
  case when not exists (select 1 from slot) then (
    select (extract(epoch from clock_timestamp() - max(s.taken_at)) * 1000)::float8
    from server_places s where ${ofServer('s')} and ${isHeld('s')}) end as newest_for_ms`;
export const circuitJoin = sql`left join server_circuits circuit on ${ofServer('circuit')}`;

export type ServerSlotRow = {
  slot: number | null;
  has_slots: boolean;
  is_paused: boolean | null;
  failures: number | null;
  paused_for_ms: number | null;
  newest_for_ms: number | null;
};

export const serverSlotOf = (row: ServerSlotRow): ServerSlot => ({
  slot: row.slot,
  failures: row.failures ?? 0,
  isPaused: row.is_paused ?? false,
  pausedForMs: Math.max(row.paused_for_ms ?? 0, 0),
  newestForMs: Math.max(row.newest_for_ms ?? 0, 0),
});

/** Creates the slots of a server before its first use. Safe to repeat and to run concurrently. */
export async function createServerSlots(
  deps: ActivityDeps,
  { postChannelId, workspaceId }: PublishRequest,
): Promise<void> {
  await query(
    deps.orm.em.fork(),
    sql`insert into server_places (platform, base_url, place)
      select c.platform, ${serverOfChannel}, place
      from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id,
        generate_series(0, ${slotsPerServer.answering}::int - 1) as place
      where pc.id = ${postChannelId} and pc.workspace_id = ${workspaceId} on conflict do nothing`,
  );
}

/**
 * SQL: releases the attempt's slot, unless another attempt holds it. SKIP LOCKED, so it is safe behind any other lock:
 * a transaction that has locked the row is taking the slot.
 *
 * @param answered Whether the server answered the attempt.
 */
export const releaseServerSlotSql = (
  { platform, server, postChannelId, ...job }: PublishJob,
  answered: boolean,
): RawBuilder<unknown> => sql`update server_places s
  set taken_until = null, post_channel_id = null,
    answered_at = ${answered ? sql`clock_timestamp()` : sql`s.answered_at`}
  from (select platform, base_url, place from server_places
    where platform = ${platform} and base_url = ${serverOf(job)} and place = ${server.slot}::int
      and post_channel_id = ${postChannelId}::uuid for update skip locked) mine
  where s.platform = mine.platform and s.base_url = mine.base_url and s.place = mine.place`;

/** SQL: closes the server's circuit after any answer. Writes nothing for a server without failures. */
export const closeCircuit = ({ platform, ...job }: PublishJob): RawBuilder<unknown> =>
  sql`update server_circuits set failures = 0, pauses = 0, open_until = null
    where platform = ${platform} and base_url = ${serverOf(job)} and failures > 0`;

const failures = sql`circuit.failures + 1`;
/** Attempts that began before a pause and fail during it add no information: they make one pause only. */
const begins = sql`${failures} >= ${toPause} and coalesce(circuit.open_until <= clock_timestamp(), true)`;
const pauseMs = sql`least(${sql.lit(pauses.firstMs)} * power(2, least(circuit.pauses, 30)), ${sql.lit(pauses.longestMs)})`;

/** SQL: counts an attempt without an answer. A pause begins after `failuresToPause` in a row, and then after each. */
const countFailure = ({ platform, ...job }: PublishJob): RawBuilder<unknown> =>
  sql`insert into server_circuits as circuit (platform, base_url, failures, pauses)
    values (${platform}, ${serverOf(job)}, 1, 0)
    on conflict (platform, base_url) do update set failures = ${failures},
      pauses = circuit.pauses + (${begins})::int,
      open_until = case when ${begins} then clock_timestamp() + ${pauseMs} * interval '1 millisecond'
        else circuit.open_until end`;

/** Releases the slot of an attempt that says nothing about its server. */
export const releaseServerSlot = (deps: ActivityDeps, job: PublishJob): Promise<void> =>
  recordServerAnswer(deps, job, undefined);

/**
 * Runs an attempt and keeps its slot with heartbeats. On an error, releases the slot and stores what the error says
 * about the server. On success, `recordSuccess` releases the slot.
 */
export async function withServerSlot<T>(
  deps: ActivityDeps,
  job: PublishJob,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await heartbeating(work, () => keepServerSlot(deps, job));
  } catch (error) {
    const evidence = error instanceof NetworkError ? error.server : undefined;
    // Ignore errors: the slot expires.
    await recordServerAnswer(deps, job, evidence).catch(() => undefined);
    throw error;
  }
}

async function recordServerAnswer(
  deps: ActivityDeps,
  job: PublishJob,
  evidence: ServerEvidence | undefined,
): Promise<void> {
  if (job.server.slot === null && evidence === undefined) {
    return;
  }

  const circuit = evidence === 'answered' ? closeCircuit(job) : countFailure(job);
  await query(
    deps.orm.em.fork(),
    sql`with slot as (${releaseServerSlotSql(job, evidence === 'answered')})
      ${evidence ? sql`, circuit as (${circuit})` : sql``} select 1`,
  );
}

/** Renews the slot, unless another attempt took it while this worker was silent. */
async function keepServerSlot(
  deps: ActivityDeps,
  { platform, server, postChannelId, ...job }: PublishJob,
): Promise<void> {
  await query(
    deps.orm.em.fork(),
    sql`update server_places set taken_until = clock_timestamp() + ${heldFor}
      where platform = ${platform} and base_url = ${serverOf(job)} and place = ${server.slot}::int
        and post_channel_id = ${postChannelId}::uuid`,
  );
}
