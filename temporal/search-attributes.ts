import { describeError } from '../runtime/describe-error.ts';
import type { Logger } from '../runtime/logger.ts';
import { searchAttributeKeys } from '../workflows/search-attributes.ts';
import type { Temporal } from './connect.ts';
import { hasGrpcCode } from './grpc-errors.ts';
import { underDeadline } from './under-deadline.ts';

/** Temporal's own numbers for the types that we use. */
const types = { KEYWORD: 2, KEYWORD_LIST: 7 } as const;

/**
 * Makes sure that Temporal knows the attributes that people search by. Those that lack come to be at once or not at
 * all. A Temporal that does not allow it, as Temporal Cloud, is told of in the log, and posts go out as ever. Several
 * workers may do it at the same time.
 *
 * @returns whether Temporal knows them.
 */
export const ensureSearchAttributes = async (temporal: Temporal, log: Logger): Promise<boolean> =>
  (await ensure(temporal, log)) === 'known';

/**
 * The same, and where Temporal gave no answer, as a busy one does, once more each minute until it gives one: otherwise
 * nobody could search for posts before a worker starts the next time. Resolves after the first try.
 *
 * @returns a function that ends it.
 */
export async function keepSearchable(
  temporal: Temporal,
  log: Logger,
  everyMs = 60_000,
): Promise<() => Promise<void>> {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const look = async (): Promise<void> => {
    isOver ||= (await ensure(temporal, log)) !== 'unanswered';
    if (!isOver) {
      timer = setTimeout(next, everyMs);
    }
  };
  let running = look();
  const next = (): void => {
    running = look();
  };

  await running;
  return async () => {
    isOver = true;
    clearTimeout(timer);
    await running;
  };
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
      "Temporal's search attributes could not be made sure of: workflows may start without them",
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
