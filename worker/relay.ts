import type { Client } from '@temporalio/client';
import { sql } from 'kysely';
import { isDatabaseUnavailable } from '../db/database-errors.ts';
import type { Em, Orm } from '../db/orm.ts';
import { query } from '../db/query.ts';
import { forEachLimit } from '../runtime/concurrency.ts';
import { describeError, type Logger } from '../runtime/logger.ts';
import { repeat } from '../runtime/timers.ts';
import { deadlineMs, isTemporalUnavailable } from '../temporal/connect.ts';
import { outboxes, type Outbox } from './outbox.ts';

export type RelayDeps = { readonly orm: Orm; readonly client: Client; readonly log: Logger };

const intervalMs = 1000;

const batchSize = 50;

/** Concurrent syncs, in all and per connection of the pool: each sync needs one briefly. */
const [mostAtOnce, atOncePerConnection] = [20, 2];

/**
 * Relays that read an outbox at the same time, over all workers. Each holds a transaction until Temporal responds, and
 * needs another connection per row: waiting ones could hold all connections of a pooler.
 */
const relaysAtOnce = 4;

/** Syncs rows of every outbox: deliveries, and posts that the API could not sync. @returns their number. */
export async function relayOnce(
  deps: RelayDeps,
  options: Partial<RelayOptions> = {},
): Promise<number> {
  const { backoff = retryBackoff(), graceMs = 0 } = options;
  let synced = 0;
  for (const outbox of outboxes) {
    const relayed = await relayOutbox(deps, outbox, { backoff, graceMs });
    synced += relayed.synced;
    if (relayed.isAway) {
      break; // The next outbox would only wait as long again.
    }
  }

  return synced;
}

type RelayOptions = {
  /** Rows that failed to sync before. Default: none. */
  readonly backoff: ReturnType<typeof retryBackoff>;
  /** Time that rows are left to the process that changed them, in milliseconds. Default: 0. */
  readonly graceMs: number;
};

type Failure = { readonly id: string; readonly error: unknown };

function relayOutbox(
  { orm, client, log }: RelayDeps,
  outbox: Outbox,
  { backoff, graceMs }: RelayOptions,
) {
  return orm.em.fork().transactional(async (em) => {
    let synced = 0;
    const failures: Failure[] = [];
    // Nothing was synced, because Temporal is unavailable.
    const isAway = (): boolean =>
      synced === 0 && failures.some(({ error }) => isTemporalUnavailable(error));
    const rows = (await takeRelaySlot(em, outbox))
      ? await outbox.claim(em, { limit: batchSize, except: backoff.ids(), graceMs })
      : [];
    const connections = orm.config.get('pool').max ?? mostAtOnce;
    const atOnce = Math.min(mostAtOnce, atOncePerConnection * connections);
    await forEachLimit(rows, atOnce, async ({ id, sync }) => {
      if (isAway()) {
        return; // Release the row; a later poll retries it.
      }

      try {
        await sync(client, orm.em.fork());
        synced += 1;
        backoff.release(id);
      } catch (error) {
        failures.push({ id, error });
        backoff.add(id, isUnavailableError(error) ? 'away' : 'refused');
      }
    });
    report(log, outbox, failures, backoff);
    return { synced, isAway: isAway() };
  });
}

/** Takes one of the outbox's slots for the transaction. @returns whether one was free. */
async function takeRelaySlot(em: Em, { name }: Outbox): Promise<boolean> {
  const slots = await query(
    em,
    sql`select from generate_series(1, ${sql.lit(relaysAtOnce)}) as slot
      where pg_try_advisory_xact_lock(hashtext('relay of ' || ${name}::text), slot) limit 1`,
  );
  return slots.length > 0;
}

function report(
  log: Logger,
  { name }: Outbox,
  failures: readonly Failure[],
  { beginOutage }: RelayOptions['backoff'],
): void {
  const tell = (those: readonly Failure[], message: string): void => {
    for (const { id, error } of those) {
      log.warn({ [name]: id, error: describeError(error) }, message);
    }
  };
  const refused = failures.filter(({ error }) => !isUnavailableError(error));
  const away = failures.filter(({ error }) => isTemporalUnavailable(error));
  const unread = failures.filter(({ error }) => isDatabaseUnavailable(error));
  const later = `this ${name} and others are synced later`;
  tell(refused, `Temporal refused to sync a ${name}`);
  if (away.length + unread.length > 0 && beginOutage()) {
    tell(away.slice(0, 1), `Temporal did not answer: ${later}`);
    tell(unread.slice(0, 1), `the database did not answer: ${later}`);
  }
}

const isUnavailableError = (error: unknown): boolean =>
  isTemporalUnavailable(error) || isDatabaseUnavailable(error);

/** Runs the relay. @returns a function that stops it and resolves after the last poll. */
export function startRelay(deps: RelayDeps): () => Promise<void> {
  const backoff = retryBackoff();
  let isAway = false;
  return repeat(async () => {
    try {
      // The grace period is the API's own timeout. Syncing a post twice publishes it no sooner and wakes its workflow
      // without need.
      const synced = await relayOnce(deps, { backoff, graceMs: deadlineMs });
      isAway = false;
      return synced > 0 ? 0 : intervalMs;
    } catch (error) {
      // One line for an outage, not one for each second of it.
      const ofOutage = isDatabaseUnavailable(error);
      const level = isAway && ofOutage ? 'debug' : 'warn';
      isAway = ofOutage;
      deps.log[level]({ error: describeError(error) }, 'the outbox could not be read');
      return intervalMs;
    }
  }).stop;
}

/** In milliseconds. After an outage no row waits longer than the first. */
const firstWaitMs = 1000;
const longestWaitMs = 60_000;

/** Backoff of rows that failed to sync, so that they do not delay others. @param now A clock in milliseconds. */
export function retryBackoff(now: () => number = Date.now) {
  const rows = new Map<string, { readonly untilMs: number; readonly waitMs: number }>();
  let isAway = false;
  return {
    /** @returns true for the first failure of an outage, which is logged; later ones are not. */
    beginOutage: (): boolean => {
      const isFirst = !isAway;
      isAway = true;
      return isFirst;
    },
    ids: (): string[] => {
      for (const [id, { untilMs }] of rows) {
        if (untilMs + longestWaitMs < now()) {
          rows.delete(id); // Synced by another process, or deleted.
        }
      }

      return [...rows].flatMap(([id, { untilMs }]) => (untilMs > now() ? [id] : []));
    },
    /** @param why `refused`: Temporal refused this row. `away`: Temporal or the database is unavailable. */
    add: (id: string, why: 'refused' | 'away'): void => {
      const before = rows.get(id)?.waitMs ?? firstWaitMs / 2;
      const waitMs = why === 'away' ? firstWaitMs : Math.min(before * 2, longestWaitMs);
      rows.set(id, { untilMs: now() + waitMs, waitMs });
    },
    release: (id: string): void => {
      rows.delete(id);
      isAway = false;
    },
  };
}
