import type { ExecutionContext, TestFn } from 'ava';
import { createOrm, type Orm } from '../../db/orm.ts';
import { beforeTests } from './before-tests.ts';
import { newClient, type Client } from './client.ts';
import { freshDatabase, patience } from './database.ts';
import { fakeNetworks } from './networks.ts';
import { startApi, startWorkers, type ApiOptions, type Punctual } from './punctual.ts';

export { beforeTests, fileScope } from './before-tests.ts';

// What the tests of one file share. Each of them makes a workspace of its own in it: every table carries its
// workspace, so that tests which run side by side are also a test of isolation.

/** The API of a test file, and what it is made of. */
export type SharedApi = {
  /** Throws before the file's `before` hooks have run. */
  readonly punctual: Punctual;
  /** Makes a workspace with a key, and a client for it. */
  readonly newClient: (name?: string) => Promise<Client>;
};

/**
 * Starts one API on a real socket for all tests of a file, with a database and a Temporal namespace of its own. Its
 * only network is the fake one unless `options.networks` says otherwise. Call it before the first test.
 */
export const sharedApi = (test: TestFn, options: ApiOptions = {}): SharedApi =>
  shared(test, (scope) => startApi(scope, { networks: fakeNetworks, ...options }));

/** The same with workers and a relay: posts are published and webhooks delivered. */
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

/** One migrated database for all tests of a file that need no API. @returns how to get it while tests run. */
export const sharedDatabase = (test: TestFn): (() => { readonly url: string; readonly orm: Orm }) =>
  beforeTests(test, freshDatabase);

/** Another pool on the same database. */
export function ownPool(t: ExecutionContext, url: string): Orm {
  const orm = createOrm(url, { poolSize: 5, ...patience });
  t.teardown(() => orm.close());
  return orm;
}
