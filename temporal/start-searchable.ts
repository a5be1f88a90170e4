import type { Client } from '@temporalio/client';
import type { TypedSearchAttributes } from '@temporalio/common';
import type { Logger } from '../runtime/logger.ts';
import { hasGrpcCode } from './grpc-errors.ts';

/** For how long a Temporal that did not know our search attributes is not asked again, in milliseconds. */
const unknownMs = 60_000;

/** Until when each client's Temporal is taken not to know them, in milliseconds since 1970. */
const unknownUntil = new WeakMap<Client, number>();

type Start<T> = (searchable: { typedSearchAttributes?: TypedSearchAttributes }) => Promise<T>;

/**
 * Starts a workflow that people can search for, or else one that they cannot: a server that does not know the
 * attributes yet, or never will, refuses such a start as a whole, and no post may be lost for that.
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
