import path from 'node:path';
import type { Orm } from '../../db/orm.ts';
import type { Stage } from '../../scripts/parts/part.ts';
import { startServer, type Server } from '../runner/processes.ts';
import { withRetries } from '../runner/workflows.ts';
import { call } from './load.ts';
import type { Seeded } from './seed.ts';

export type World = {
  readonly folder: string;
  readonly stage: Stage;
  readonly orm: Orm;
  readonly databaseUrl: string;
  readonly secretKey: string;
  /** Workspaces with 1,000, 10,000 and 100,000 posts. */
  readonly small: Seeded;
  readonly listed: Seeded;
  readonly analysed: Seeded;
  /** Workspaces with 100 posts each. The API reads for each key in two calls at a time, so one key measures that limit. */
  readonly readers: readonly Seeded[];
  /** A workspace with 1,000,000 posts, with words, tags and outcomes but no channels. */
  readonly large: Pick<Seeded, 'workspaceId' | 'key'>;
};

/**
 * More calls per minute and drafts than any machine reaches: limits and quotas are counted, but never refuse a request.
 */
const unreachable = '1000000';

/**
 * Starts the product's API, `api/main.ts`, with its defaults except for rate limits and the quota of drafts.
 *
 * @param statementsFile Records its statements in this file; not for measurements.
 */
export async function startProduct(
  { folder, stage, databaseUrl, secretKey, small }: World,
  statementsFile?: string,
): Promise<Server> {
  const record = ['--import', './bench/api/record-statements.ts'];
  const server = await startServer(
    {
      name: 'api',
      args: [...(statementsFile === undefined ? [] : record), 'api/main.ts'],
      env: {
        DATABASE_URL: databaseUrl,
        SECRET_KEY: secretKey,
        PUNCTUAL_RATE_LIMIT: unreachable,
        PUNCTUAL_RATE_LIMIT_WRITES: unreachable,
        PUNCTUAL_QUOTA_DRAFTS: unreachable,
        PUNCTUAL_MEDIA_DIR: path.join(folder, 'media'),
        // Nothing listens there; drafts need no Temporal.
        TEMPORAL_ADDRESS: '127.0.0.1:9',
        ...(statementsFile === undefined ? {} : { BENCH_STATEMENTS: statementsFile }),
      },
      folder,
    },
    stage,
  );
  // It listens before it has checked the database, and returns 503 until then.
  await withRetries(() => call(server.origin, small.key, 'GET', '/me'));
  return server;
}
