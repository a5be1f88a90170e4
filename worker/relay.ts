import type { Client } from '@temporalio/client';
import { sql } from 'kysely';
import { isDatabaseAway } from '../db/is-away.ts';
import type { Em, Orm } from '../db/orm.ts';
import { query } from '../db/query.ts';
import { describeError, type Logger } from '../runtime/logger.ts';
import { repeat } from '../runtime/repeat.ts';
import { forEachLimit } from '../runtime/for-each-limit.ts';
import { deadlineMs } from '../temporal/connect.ts';
import { isTemporalAway } from '../temporal/grpc-errors.ts';
import { outboxes, type Outbox } from './outbox.ts';

export type RelayDeps = { readonly orm: Orm; readonly client: Client; readonly log: Logger };

/** How often the outbox is looked at, in milliseconds. */
const intervalMs = 1000;

/** How many rows of an outbox are claimed in one go. */
const batchSize = 50;

/** How many rows are synced at once, and how many for each connection of the pool, which a row needs for a moment. */
const [mostAtOnce, atOncePerConnection] = [20, 2];

/**
 * How many relays read an outbox at the same time, over all workers. Each holds a transaction until Temporal has
 * answered, and needs a connection beside it for each row: a pooler's connections would all be held by relays that wait
 * for another one.
 */
const relaysAtOnce = 4;

/**
 * Syncs some rows of every outbox: those that the API could not sync. Several workers share the work by claims on the
 * rows.
 *
 * @returns how many rows were synced.
 */
export async function relayOnce(deps: RelayDeps, look: Partial<Look> = {}): Promise<number> {
  const { backoff = retryBackoff(), graceMs = 0 } = look;
  let synced = 0;
  for (const outbox of outboxes) {
    const relayed = await relayOutbox(deps, outbox, { backoff, graceMs });
    synced += relayed.synced;
    if (relayed.isAway) {
      break; // The next outbox would only wait for it as long again.
    }
  }

  return synced;
}

type Look = {
  /** Rows that Temporal did not take before. None unless given. */
  readonly backoff: RetryBackoff;
  /** How long rows are left to the process that changed them, in milliseconds. Not at all unless given. */
  readonly graceMs: number;
};

type Relayed = {
  readonly synced: number;
  /** Temporal took nothing. */
  readonly isAway: boolean;
};

type Failure = { readonly id: string; readonly error: unknown };

function relayOutbox(deps: RelayDeps, outbox: Outbox, look: Look): Promise<Relayed> {
  const { orm, client, log } = deps;
  const { backoff, graceMs } = look;
  return orm.em.fork().transactional(async (em) => {
    let synced = 0;
    const failures: Failure[] = [];
    const isAway = (): boolean =>
      synced === 0 && failures.some(({ error }) => isTemporalAway(error));
    const rows = (await takeSlot(em, outbox))
      ? await outbox.claim(em, { limit: batchSize, except: backoff.ids(), graceMs })
      : [];
    const connections = orm.config.get('pool').max ?? mostAtOnce;
    const atOnce = Math.min(mostAtOnce, atOncePerConnection * connections);
    await forEachLimit(rows, atOnce, async ({ id, sync }) => {
      if (isAway()) {
        return; // Let go of the row and come back later.
      }

      try {
        await sync(client, orm.em.fork());
        synced += 1;
        backoff.release(id);
      } catch (error) {
        failures.push({ id, error });
        backoff.add(id, isAwayError(error) ? 'away' : 'refused');
      }
    });
    report(log, outbox, failures);
    return { synced, isAway: isAway() };
  });
}

/** @returns whether one of the outbox's slots is this relay's until the transaction ends. */
async function takeSlot(em: Em, { name }: Outbox): Promise<boolean> {
  const slots = await query(
    em,
    sql`select from generate_series(1, ${sql.lit(relaysAtOnce)}) as slot
      where pg_try_advisory_xact_lock(hashtext('relay of ' || ${name}::text), slot) limit 1`,
  );
  return slots.length > 0;
}

/** Each row that Temporal refuses has a line of its own; an outage has one a look. */
function report(log: Logger, { name }: Outbox, failures: readonly Failure[]): void {
  const refused = failures.filter(({ error }) => !isAwayError(error));
  for (const { id, error } of refused) {
    log.warn({ [name]: id, error: describeError(error) }, `Temporal refused to sync a ${name}`);
  }

  const first = failures.find(({ error }) => isTemporalAway(error));
  if (first) {
    log.warn(
      { [name]: first.id, error: describeError(first.error) },
      `Temporal did not answer: this ${name} and others are synced later`,
    );
  }

  const unread = failures.find(({ error }) => isDatabaseAway(error));
  if (unread) {
    log.warn(
      { [name]: unread.id, error: describeError(unread.error) },
      `the database did not answer: this ${name} and others are synced later`,
    );
  }
}

/** It is not this row. */
const isAwayError = (error: unknown): boolean => isTemporalAway(error) || isDatabaseAway(error);

/** Runs the relay until the returned function is called, which resolves when the last look is over. */
export function startRelay(deps: RelayDeps): () => Promise<void> {
  const backoff = retryBackoff();
  return repeat(async () => {
    try {
      // The grace is as long as the API itself tries: synced twice, a post is published no sooner, and its workflow wakes
      // for nothing.
      const synced = await relayOnce(deps, { backoff, graceMs: deadlineMs });
      return synced > 0 ? 0 : intervalMs;
    } catch (error) {
      deps.log.warn({ error: describeError(error) }, 'the outbox could not be read');
      return intervalMs;
    }
  }).stop;
}

/** Rows that Temporal did not take. Each waits for a while before its next sync, so that it holds up no other. */
export type RetryBackoff = {
  /** Those whose wait is not over. */
  readonly ids: () => string[];
  /** @param why `refused`: it is this row that Temporal does not take. `away`: it is Temporal or the database. */
  readonly add: (id: string, why: 'refused' | 'away') => void;
  readonly release: (id: string) => void;
};

/** In milliseconds. After an outage nothing waits longer than the shortest of them. */
const firstWaitMs = 1000;
const longestWaitMs = 60_000;

/** How many rows are remembered; a row beyond is synced as if it never failed. */
const maxRows = 10_000;

/** @param now A clock in milliseconds. */
export function retryBackoff(now: () => number = Date.now): RetryBackoff {
  const rows = new Map<string, { readonly untilMs: number; readonly waitMs: number }>();
  return {
    ids: () => [...rows].flatMap(([id, { untilMs }]) => (untilMs > now() ? [id] : [])),
    add: (id, why) => {
      const before = rows.get(id)?.waitMs ?? firstWaitMs / 2;
      const waitMs = why === 'away' ? firstWaitMs : Math.min(before * 2, longestWaitMs);
      rows.delete(id);
      rows.set(id, { untilMs: now() + waitMs, waitMs });
      const [oldest] = rows.keys();
      if (rows.size > maxRows && oldest !== undefined) {
        rows.delete(oldest);
      }
    },
    release: (id) => void rows.delete(id),
  };
}
