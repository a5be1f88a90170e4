import { sql, type RawBuilder } from 'kysely';
import { query } from '../../db/query.ts';
import { failuresToPause, pauses, slotsPerServer } from '../../domain/pacing.ts';
import { NetworkError, type ServerEvidence } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import { heartbeating } from '../heartbeating.ts';
import type { Begun } from './begun.ts';
import type { PublishJob, PublishRequest } from './job.ts';

/** Lifetime of a slot. A running attempt renews it with its heartbeats, every 5 s. */
export const heldFor = sql.raw("interval '15 seconds'");

/**
 * The server of the channel `c`: its base URL without the path, because one host can answer under any number of paths.
 * The SQL and the function below must agree.
 */
export const serverOfChannel = sql`coalesce(substring(c.base_url from '^[^/]+//[^/]+'), c.base_url)`;
const serverOf = ({ baseUrl }: Pick<PublishJob, 'baseUrl'>): string =>
  /^[^\/]+\/\/[^\/]+/v.exec(baseUrl)?.[0] ?? baseUrl;

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
 * Runs an attempt and keeps its slot with heartbeats. On an error, releases the slot and stores what the error says
 * about the server. On success, `recordSuccess` releases the slot.
 */
export async function withServerSlot<T>(
  deps: ActivityDeps,
  job: PublishJob,
  begun: Begun,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await heartbeating(work, () => keepServerSlot(deps, job), begun);
  } catch (error) {
    const evidence = error instanceof NetworkError ? error.server : undefined;
    // Ignore errors: the slot expires.
    await recordServerAnswer(deps, job, evidence).catch(() => undefined);
    throw error;
  }
}

/** Releases the slot of an attempt that says nothing about its server. */
export const releaseServerSlot = (deps: ActivityDeps, job: PublishJob): Promise<void> =>
  recordServerAnswer(deps, job, undefined);

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
const begins = sql`${failures} >= ${sql.lit(failuresToPause)} and coalesce(circuit.open_until <= clock_timestamp(), true)`;
const pauseMs = sql`least(${sql.lit(pauses.firstMs)} * power(2, least(circuit.pauses, 30)), ${sql.lit(pauses.longestMs)})`;

/** SQL: counts an attempt without an answer. A pause begins after `failuresToPause` in a row, and then after each. */
const countFailure = ({ platform, ...job }: PublishJob): RawBuilder<unknown> =>
  sql`insert into server_circuits as circuit (platform, base_url, failures, pauses)
    values (${platform}, ${serverOf(job)}, 1, 0)
    on conflict (platform, base_url) do update set failures = ${failures},
      pauses = circuit.pauses + (${begins})::int,
      open_until = case when ${begins} then clock_timestamp() + ${pauseMs} * interval '1 millisecond'
        else circuit.open_until end`;
