import { WorkflowExecutionAlreadyStartedError, type Client } from '@temporalio/client';
import { sql } from 'kysely';
import { isOpenChannel } from '../db/channel-status.ts';
import type { Post } from '../db/entities/posts.ts';
import type { Em } from '../db/orm.ts';
import { query } from '../db/query.ts';
import {
  lacksChange,
  lacksResult,
  markDatabaseOlder,
  restoredDatabase,
} from '../db/restore-counter.ts';
import type { PostToSync } from '../domain/to-sync.ts';
import { underDeadline } from './connect.ts';
import { readLatestRun, type LatestRun } from './latest-run.ts';

class DatabaseOlderError extends Error {
  override readonly name = 'DatabaseOlderError';

  constructor(postId: string, { at }: LatestRun) {
    super(
      `The workflow of the post ${postId} published it, or received a change, by ${at.toISOString()}, and the database lacks that. ${restoredDatabase}`,
    );
  }
}

type Row = Pick<Post, 'status' | 'revision' | 'run'> & Record<'isOpen' | 'isLacking', boolean>;

export type Place = { readonly client: Client; readonly em: Em };
type Policy = { readonly workflowIdReusePolicy: 'REJECT_DUPLICATE' | 'ALLOW_DUPLICATE' };

/** Starts or signals a post's workflow; after an earlier run, only if the database has what that run did and knew. */
export async function startOnce(
  place: Place,
  post: PostToSync,
  start: (policy: Policy) => Promise<unknown>,
): Promise<void> {
  try {
    await start({ workflowIdReusePolicy: 'REJECT_DUPLICATE' });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) {
      throw error;
    }

    // Deadlines of their own: under a common one, a slow Temporal would never take these posts.
    await underDeadline(place.client, () => assertNotOlder(place, post));
    await underDeadline(place.client, () => start({ workflowIdReusePolicy: 'ALLOW_DUPLICATE' }));
  }
}

/** @throws DatabaseOlderError if the run published what the row lacks, or knows a newer revision. */
async function assertNotOlder(
  { client, em }: Place,
  { workspaceId, postId }: PostToSync,
): Promise<void> {
  const ended = await readLatestRun(client, postId);
  if (!ended) {
    return;
  }

  // After the run ended, so the row has its result if the database is the newest.
  const [row] = await query<Row>(
    em,
    sql`select p.status, p.revision, p.run, bool_or(${isOpenChannel}) as "isOpen",
        ${lacksChange(ended.revision)} or ${lacksResult(ended.published)} as "isLacking"
      from posts p join post_channels pc on pc.post_id = p.id and pc.workspace_id = p.workspace_id
      where p.id = ${postId} and p.workspace_id = ${workspaceId} group by p.id`,
  );
  if (row?.isOpen && (row.isLacking || isOlder(row, ended))) {
    await markDatabaseOlder(em, ended.at);
    throw new DatabaseOlderError(postId, ended);
  }
}

/**
 * Whether the database lost the result of the run. Every change after a run's end has a higher revision than the run
 * knows. A post that ended live is sent again by a retry only, which raises `run`; a lost retry may have sent nothing.
 */
function isOlder(row: Row, { end, revision, hasSent }: LatestRun): boolean {
  const isLive = end === 'live' && (row.run === 1 || (hasSent && row.revision <= revision));
  return isLive || (end === 'stopped' && row.status !== 'draft' && row.revision <= revision);
}
