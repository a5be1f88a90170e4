import type { ExecutionContext, TestFn } from 'ava';
import type { Network } from '../../networks/network.ts';
import { beforeTests } from './before-tests.ts';
import { clockedChannel, type ClockedChannel } from './claimed-posts.ts';
import { freshDatabase } from './database.ts';
import type { FakeNetwork } from './networks.ts';
import { postSteps, type PostSteps } from './post-steps.ts';

/** Test fixtures on the one database of a file, each in its own workspace. */
export type OnOneDatabase = {
  /** {@link postSteps} */
  readonly newSteps: (
    t: ExecutionContext,
    networks: Readonly<Record<string, Network>>,
  ) => Promise<PostSteps>;
  /** {@link clockedChannel} */
  readonly newChannel: (t: ExecutionContext, network: FakeNetwork) => Promise<ClockedChannel>;
};

/** Creates the database of a file that needs neither an API nor Temporal. Call it before the first test. */
export function onOneDatabase(test: TestFn): OnOneDatabase {
  const database = beforeTests(test, freshDatabase);
  return {
    newSteps: (t, networks) => postSteps(t, networks, database().url),
    newChannel: (t, network) => clockedChannel(t, network, database().url),
  };
}
