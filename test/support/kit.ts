import type { ExecutionContext, TestFn } from 'ava';
import { createOrm, type Orm } from '../../db/orm.ts';
import { beforeTests } from './before-tests.ts';
import { newClient, type Client } from './client.ts';
import { freshDatabase, patience } from './database.ts';
import { fakeNetworks } from './networks.ts';
import { startApi, startWorkers, type ApiOptions, type Punctual } from './punctual.ts';

export { beforeTests, fileScope } from './before-tests.ts';

// The tests of a file share these. Each test has its own workspace; tests that run concurrently thereby also test the
// isolation of workspaces.

/** The API of a test file and its parts. */
export type SharedApi = {
  /** Throws before the file's `before` hooks have run. */
  readonly punctual: Punctual;
  /** Creates a workspace with a key, and a client for it. */
  readonly newClient: (name?: string) => Promise<Client>;
};

/**
 * Starts one API on a real socket for all tests of a file, with its own database and Temporal namespace. Its only
 * network is the fake one unless `options.networks` is set. Call it before the first test.
 */
export const sharedApi = (test: TestFn, options: ApiOptions = {}): SharedApi =>
  shared(test, (scope) => startApi(scope, { networks: fakeNetworks, ...options }));

/** Also starts workers and a relay: they publish posts and deliver webhooks. */
export const sharedPunctual = (test: TestFn, options: ApiOptions = {}): SharedApi =>
  shared(test, async (scope) => {
    const punctual = await startApi(scope, { networks: fakeNetworks, ...options });
    await startWorkers(scope, punctual);
    return punctual;
  });

function shared(test: TestFn, start: (scope: ExecutionContext) => Promise<Punctual>): SharedApi {
  const started = beforeTests(test, start);
  return {
    get punctual() {
      return started();
    },
    newClient: (name) => newClient(started(), name),
  };
}

/** One migrated database for all tests of a file without an API. @returns a getter for use inside tests. */
export const sharedDatabase = (test: TestFn): (() => { readonly url: string; readonly orm: Orm }) =>
  beforeTests(test, freshDatabase);

/** Another pool on the same database. */
export function ownPool(t: ExecutionContext, url: string): Orm {
  const orm = createOrm(url, { poolSize: 5, ...patience });
  t.teardown(() => orm.close());
  return orm;
}
