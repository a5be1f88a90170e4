import type { Client } from '@temporalio/client';
import { ask } from '../db/ask.ts';
import type { Em, Orm } from '../db/orm.ts';
import { describeError } from '../runtime/describe-error.ts';
import type { Logger } from '../runtime/logger.ts';
import { sideBySide } from '../runtime/side-by-side.ts';
import { isTemporalAway } from '../temporal/grpc-errors.ts';
import { deadlineMs } from '../temporal/connect.ts';
import { heldBackRows, type HeldBack } from './held-back.ts';
import { outboxes, type Outbox } from './outboxes.ts';

export type RelayDeps = { readonly orm: Orm; readonly client: Client; readonly log: Logger };

/** How often the outbox is looked at, in milliseconds. */
const intervalMs = 1000;

/** How many rows of an outbox are claimed in one go. */
const batchSize = 50;

/** How many rows are told of at once. */
const width = 10;

/**
 * How many relays read an outbox at the same time, over all workers. Each holds a transaction until Temporal has
 * answered, and needs a connection beside it for each row: a pooler's connections would all be held by relays that wait
 * for another one.
 */
const relaysAtOnce = 4;

/**
 * Repeats to Temporal what the API could not tell it: some rows of every outbox. Several workers share the work by
 * claims on the rows.
 *
 * @returns how many rows Temporal was told of.
 */
export async function relayOnce(deps: RelayDeps, look: Partial<Look> = {}): Promise<number> {
  const { heldBack = heldBackRows(), graceMs = 0 } = look;
  let told = 0;
  for (const outbox of outboxes) {
    const seen = await relayOutbox(deps, outbox, { heldBack, graceMs });
    told += seen.told;
    if (seen.isAway) {
      break; // The next outbox would only wait for it as long again.
    }
  }

  return told;
}

type Look = {
  /** Rows that Temporal did not take before. None unless given. */
  readonly heldBack: HeldBack;
  /** How long rows are left to whoever changed them, in milliseconds. Not at all unless given. */
  readonly graceMs: number;
};

type Seen = {
  readonly told: number;
  /** Temporal took nothing. */
  readonly isAway: boolean;
};

function relayOutbox(deps: RelayDeps, outbox: Outbox, look: Look): Promise<Seen> {
  const { orm, client, log } = deps;
  const { heldBack, graceMs } = look;
  return orm.em.fork().transactional(async (em) => {
    let told = 0;
    const unheard: { id: string; error: unknown }[] = [];
    const isAway = (): boolean => told === 0 && unheard.some(({ error }) => isTemporalAway(error));
    const rows = (await hasPlace(em, outbox))
      ? await outbox.take(em, { limit: batchSize, except: heldBack.ids(), graceMs })
      : [];
    await sideBySide(rows, width, async ({ id, tell }) => {
      if (isAway()) {
        return; // Let go of the row and come back later.
      }

      try {
        await tell(client, orm.em.fork());
        told += 1;
        heldBack.release(id);
      } catch (error) {
        unheard.push({ id, error });
        heldBack.add(id, isTemporalAway(error) ? 'away' : 'refused');
      }
    });
    report(log, outbox, unheard);
    return { told, isAway: isAway() };
  });
}

/** Takes one of the outbox's places until the transaction ends, unless others have all of them. */
async function hasPlace(em: Em, { name }: Outbox): Promise<boolean> {
  const places = await ask<object>(
    em,
    `select from generate_series(1, ${relaysAtOnce}) as place
     where pg_try_advisory_xact_lock(hashtext('relay of ' || $1), place) limit 1`,
    [name],
  );
  return places.length > 0;
}

/** Each row that Temporal refuses has a line of its own; an outage has one a look. */
function report(
  log: Logger,
  { name }: Outbox,
  unheard: readonly { readonly id: string; readonly error: unknown }[],
): void {
  const refused = unheard.filter(({ error }) => !isTemporalAway(error));
  for (const { id, error } of refused) {
    log.warn(
      { [name]: id, error: describeError(error) },
      `Temporal could not be told of a ${name}`,
    );
  }

  const first = unheard.find(({ error }) => isTemporalAway(error));
  if (first) {
    log.warn(
      { [name]: first.id, error: describeError(first.error) },
      `Temporal did not answer: it is told of this ${name} and others later`,
    );
  }
}

/** Runs the relay until the returned function is called, which resolves when the last look is over. */
export function startRelay(deps: RelayDeps): () => Promise<void> {
  const heldBack = heldBackRows();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const look = async (): Promise<void> => {
    let told = 0;
    try {
      // As long as the API itself tries: told twice, a post is published no sooner, and its workflow wakes for nothing.
      told = await relayOnce(deps, { heldBack, graceMs: deadlineMs });
    } catch (error) {
      deps.log.warn({ error: describeError(error) }, 'the outbox could not be read');
    }

    if (!stopped) {
      timer = setTimeout(next, told > 0 ? 0 : intervalMs);
    }
  };
  let running = look();
  const next = (): void => {
    running = look();
  };

  return async () => {
    stopped = true;
    clearTimeout(timer);
    await running;
  };
}
