import type { ExecutionContext } from 'ava';
import type { Network } from '../../networks/network.ts';
import { freshDatabase } from './database.ts';
import { postSteps, type Go, type PostSteps } from './post-steps.ts';

// Until nothing imports them any more.
export type { Go, PostSteps as PostLife };

export const postLife = async (
  t: ExecutionContext,
  networks: Readonly<Record<string, Network>>,
  databaseUrl?: string,
): Promise<PostSteps> => postSteps(t, networks, databaseUrl ?? (await freshDatabase(t)).url);
