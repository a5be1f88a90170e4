import type { Client } from '@temporalio/client';
import type { Orm } from '../db/orm.ts';
import { describeError } from '../runtime/describe-error.ts';
import type { Logger } from '../runtime/logger.ts';
import { isTemporalAway } from '../temporal/is-away.ts';
import { outboxes, type Outbox } from './outboxes.ts';

export type RelayDeps = { readonly orm: Orm; readonly client: Client; readonly log: Logger };

/** How often the outbox is looked at, in milliseconds. */
const intervalMs = 1000;

/** How many rows are told of in one go. */
const batchSize = 20;

/**
 * Repeats to Temporal what the API could not tell it: every row of an outbox, until none is left. Several workers
 * share the work by claims on the rows.
 *
 * @returns how many rows Temporal was told of.
 */
export async function relayOnce(deps: RelayDeps): Promise<number> {
  let told = 0;
  for (const outbox of outboxes) {
    told += await relayOutbox(deps, outbox);
  }

  return told;
}

function relayOutbox({ orm, client, log }: RelayDeps, { name, take }: Outbox): Promise<number> {
  return orm.em.fork().transactional(async (em) => {
    let told = 0;
    for (const { id, tell } of await take(em, batchSize)) {
      try {
        await tell(client, orm.em.fork());
        told += 1;
      } catch (error) {
        log.warn(
          { [name]: id, error: describeError(error) },
          `Temporal could not be told of a ${name}`,
        );
        if (isTemporalAway(error)) {
          break; // Let go of the rows and come back later.
        }
        // It is this row that Temporal does not take: the others must not wait for it.
      }
    }

    return told;
  });
}

/** Runs the relay until the returned function is called, which resolves when the last look is over. */
export function startRelay(deps: RelayDeps): () => Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const look = async (): Promise<void> => {
    let told = 0;
    try {
      told = await relayOnce(deps);
    } catch (error) {
      deps.log.warn({ error: describeError(error) }, 'the outbox could not be read');
    }

    if (!stopped) {
      timer = setTimeout(next, told >= batchSize ? 0 : intervalMs);
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
