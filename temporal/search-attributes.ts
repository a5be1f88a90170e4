import type { Client } from '@temporalio/client';
import type { TypedSearchAttributes } from '@temporalio/common';
import { describeError, type Logger } from '../runtime/logger.ts';
import { repeat } from '../runtime/repeat.ts';
import { searchAttributeKeys } from '../workflows/search-attributes.ts';
import { underDeadline, type Temporal } from './connect.ts';
import { hasGrpcCode } from './grpc-errors.ts';

/** Temporal's own numbers for the types that we use. */
const types = { KEYWORD: 2, KEYWORD_LIST: 7 } as const;

/**
 * Registers the search attributes that Temporal lacks, all of them in one request. Where Temporal does not allow it, as
 * Temporal Cloud, the log says so, and posts go out all the same. Several workers may do it at the same time.
 *
 * @returns whether Temporal knows them.
 */
export const ensureSearchAttributes = async (temporal: Temporal, log: Logger): Promise<boolean> =>
  (await ensure(temporal, log)) === 'known';

/**
 * The same, repeated each minute while Temporal gives no answer, as when it is busy: otherwise nobody could search for
 * posts before the next start of a worker. Resolves after the first try.
 *
 * @returns a function that stops it.
 */
export async function keepSearchable(
  temporal: Temporal,
  log: Logger,
  everyMs = 60_000,
): Promise<() => Promise<void>> {
  const { first, stop } = repeat(async () =>
    (await ensure(temporal, log)) === 'unanswered' ? everyMs : null,
  );
  await first;
  return stop;
}

async function ensure(
  temporal: Temporal,
  log: Logger,
): Promise<'known' | 'refused' | 'unanswered'> {
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

    return 'known';
  } catch (error) {
    const attributes = searchAttributeKeys.map(({ name, type }) => `${name} (${type})`);
    log.warn(
      { error: describeError(error), attributes },
      'the search attributes could not be checked: workflows may start without them',
    );
    return hasGrpcCode(error, ...unanswered) ? 'unanswered' : 'refused';
  }
}

/** `notFound` is a namespace that is being set up. A permission that is missing stays so. */
const unanswered = [
  'cancelled',
  'deadlineExceeded',
  'notFound',
  'resourceExhausted',
  'unavailable',
] as const;

/** After a start that Temporal refused, workflows start without search attributes for so long, in milliseconds. */
const unknownMs = 60_000;

/** When that ends for each client, in milliseconds since 1970. */
const unknownUntil = new WeakMap<Client, number>();

type Start<T> = (searchable: { typedSearchAttributes?: TypedSearchAttributes }) => Promise<T>;

/**
 * Starts a workflow with search attributes, or without them where the server refuses that: one that does not know the
 * attributes refuses the whole start, and no post may be lost for that.
 *
 * @throws ServiceError when it is refused without them too, or for another reason.
 */
export async function startSearchable<T>(
  client: Client,
  attributes: TypedSearchAttributes,
  start: Start<T>,
  log?: Logger,
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
    if (Date.now() >= (unknownUntil.get(client) ?? 0)) {
      log?.warn({}, 'Temporal does not know our search attributes: workflows start without them');
    }

    unknownUntil.set(client, Date.now() + unknownMs);
    return started;
  }
}
