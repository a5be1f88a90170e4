import type { Client } from '@temporalio/client';
import type { TypedSearchAttributes } from '@temporalio/common';
import { describeError, type Logger } from '../runtime/logger.ts';
import { repeat } from '../runtime/timers.ts';
import { searchAttributeKeys } from '../workflows/search-attributes.ts';
import { underDeadline, type Temporal, hasGrpcCode } from './connect.ts';

/** Values of Temporal's IndexedValueType. */
const types = { KEYWORD: 2, DATETIME: 6, KEYWORD_LIST: 7 } as const;

/**
 * Registers missing search attributes. If Temporal does not permit it, as Temporal Cloud, logs a warning; publishing
 * works without them. Safe to run concurrently.
 *
 * @returns whether Temporal has them; null if it does not respond.
 */
export async function ensureSearchAttributes(
  temporal: Temporal,
  log: Logger,
): Promise<boolean | null> {
  const { client, connection, namespace } = temporal;
  const { operatorService } = connection;
  try {
    const { customAttributes: known } = await underDeadline(client, () =>
      operatorService.listSearchAttributes({ namespace }),
    );
    for (const { name, type } of searchAttributeKeys) {
      if ((known[name] ?? types[type]) !== types[type]) {
        throw new Error(`Temporal has a search attribute ${name} of another type.`);
      }
    }

    const missing = searchAttributeKeys.filter(({ name }) => known[name] === undefined);
    const searchAttributes = Object.fromEntries(
      missing.map(({ name, type }) => [name, types[type]]),
    );
    if (missing.length > 0) {
      await underDeadline(client, () =>
        operatorService.addSearchAttributes({ namespace, searchAttributes }),
      );
    }

    return true;
  } catch (error) {
    const attributes = searchAttributeKeys.map(({ name, type }) => `${name} (${type})`);
    log.warn(
      { error: describeError(error), attributes },
      'the search attributes could not be checked: workflows may start without them',
    );
    return hasGrpcCode(error, ...unanswered) ? null : false;
  }
}

/** Repeats it each minute while Temporal does not respond. Resolves after the first attempt. @returns a function that stops it. */
export async function keepSearchable(
  temporal: Temporal,
  log: Logger,
  everyMs = 60_000,
): Promise<() => Promise<void>> {
  const { first, stop } = repeat(async () =>
    (await ensureSearchAttributes(temporal, log)) === null ? everyMs : null,
  );
  await first;
  return stop;
}

/** `notFound`: the namespace is being set up. A missing permission is not retried. */
const unanswered = [
  'cancelled',
  'deadlineExceeded',
  'notFound',
  'resourceExhausted',
  'unavailable',
] as const;

type Start<T> = (searchable: { typedSearchAttributes?: TypedSearchAttributes }) => Promise<T>;

/** For each client, until when workflows start without the attributes, so that not every start is refused first. */
const unknownUntil = new WeakMap<Client, number>();
const unknownMs = 60_000;

/** Starts a workflow, without the attributes if the server lacks them, since it refuses the whole start with them. */
export async function startSearchable<T>(
  client: Client,
  attributes: TypedSearchAttributes,
  start: Start<T>,
): Promise<T> {
  if (Date.now() < (unknownUntil.get(client) ?? 0)) {
    return start({});
  }

  try {
    return await start({ typedSearchAttributes: attributes });
  } catch (error) {
    if (!hasGrpcCode(error, 'invalidArgument')) {
      throw error;
    }

    const started = await start({});
    unknownUntil.set(client, Date.now() + unknownMs);
    return started;
  }
}
