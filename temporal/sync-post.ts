import {
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  type Client,
} from '@temporalio/client';
import { sql } from 'kysely';
import { isOpenChannel } from '../db/channel-status.ts';
import type { Post } from '../db/entities/posts.ts';
import type { Em } from '../db/orm.ts';
import { dueAt } from '../db/post-status.ts';
import { query } from '../db/query.ts';
import {
  lacksChange,
  lacksResult,
  markDatabaseOlder,
  restoredDatabase,
} from '../db/restore-counter.ts';
import { wakeDelayMs } from '../domain/pacing.ts';
import type { PostToSync } from '../domain/to-sync.ts';
import { inMarkdown, moment, networkLabel } from '../workflows/details.ts';
import {
  cancel,
  postWorkflowId,
  postsQueue,
  reschedule,
  unpublish,
  unpublishWorkflowId,
} from '../workflows/messages.ts';
import { ofPost, ofWorkspace, type SearchedPost } from '../workflows/search-attributes.ts';
import { underDeadline } from './connect.ts';
import { startSearchable } from './ensure-search-attributes.ts';
import { readLatestRun, type LatestRun } from './latest-run.ts';

/**
 * Starts or signals the workflows of a post according to the committed row, and marks the row synced. Safe to repeat and
 * to reorder: starts are idempotent, and signals carry the revision.
 *
 * @throws ServiceError if Temporal is unavailable; the row stays in the outbox.
 * @throws DatabaseOlderError if the post's workflow published or knows what the row lacks.
 */
export async function syncPost(client: Client, em: Em, post: PostToSync): Promise<void> {
  const { wakeAt, searched } = await readStored(em, post);
  await underDeadline(client, async () => {
    await notify({ client, em }, { ...post, dueAt: wakeAt }, searched);
    if (post.isBeingRemoved) {
      await startRemoval(client, post, searched);
    }
  });
  await markSynced(em, post, wakeAt === post.dueAt ? null : wakeAt);
}

type Stored = {
  /** The post's time, or slightly later if its workspace has many in that second. ISO 8601 in UTC; null for a draft. */
  readonly wakeAt: string | null;
  readonly searched: SearchedPost;
};

type StoredRow = Omit<Stored, 'wakeAt'> & { before: number };

export async function readStored(em: Em, post: PostToSync): Promise<Stored> {
  const { workspaceId, postId, dueAt: at } = post;
  const waitsFor = post.status === 'scheduled' ? at : null;
  // Follows the index `posts_due_by_workspace`: thousands of posts may be due in the same second.
  const before = sql`select count(*)::int from posts
    where workspace_id = ${workspaceId} and status = 'scheduled'
      and ${dueAt()} between date_trunc('second', ${waitsFor}::timestamptz) and ${waitsFor}::timestamptz
      and (${dueAt()}, id) < (${waitsFor}::timestamptz, ${postId}::uuid)`;
  const accounts = sql`select coalesce(json_agg(json_build_object('network', c.platform, 'handle', c.handle)
      order by pc.position), '[]')
    from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
    where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId}`;
  const [row] = await query<StoredRow>(
    em,
    sql`select (${before}) as before,
        json_build_object('accounts', (${accounts}), 'externalId', external_id) as searched
      from posts where id = ${postId} and workspace_id = ${workspaceId}`,
  );
  return {
    wakeAt: at && new Date(Date.parse(at) + wakeDelayMs(row?.before ?? 0)).toISOString(),
    searched: row?.searched ?? { accounts: [], externalId: null },
  };
}

async function markSynced(em: Em, post: PostToSync, wakesAt: string | null): Promise<void> {
  const { workspaceId, postId, revision } = post;
  await query(
    em,
    sql`update posts set synced_revision = least(revision, greatest(synced_revision, ${revision}::int)),
        wakes_at = case when ${revision}::int between least(synced_revision, revision) and revision
          then ${wakesAt}::timestamptz else wakes_at end
      where id = ${postId} and workspace_id = ${workspaceId}`,
  );
}

const longAgo = new Date(0).toISOString();

async function notify(place: Place, post: PostToSync, searched: SearchedPost): Promise<void> {
  const { workspaceId, postId, status, revision, requestId, dueAt: at, isSettled } = post;
  // A retry is synced like a new time, which is now.
  const isOpen = (status === 'scheduled' || status === 'publishing') && at !== null;
  const isDraft = status === 'draft';
  const { client } = place;
  if (isDraft && !post.isStillSending) {
    await notifyOfCancel(client, post);
  } else if (isOpen || isDraft || isSettled) {
    // A draft ends now: in the post's workflow, which may sleep until another time, or in a new one. That of a settled
    // post finds its end and takes over the result, for the Temporal UI.
    const startsAt = isOpen ? at : longAgo;
    const options = {
      taskQueue: postsQueue,
      workflowId: postWorkflowId(postId),
      // Running: keep it. Closed: a retry, or a draft that was scheduled again, starts a new run of the same id.
      workflowIdConflictPolicy: 'USE_EXISTING' as const,
      staticSummary: postSummary(searched, at),
      ...(requestId === undefined ? {} : { memo: { requestId } }),
      // Activities and deliveries inherit it, so a workspace with many posts does not delay one with few.
      priority: { fairnessKey: workspaceId },
      args: [{ workspaceId, postId, revision, dueAt: startsAt }],
      // Works for a missing workflow and for one with another time, in one call.
      signal: (isDraft ? cancel : reschedule).name,
      signalArgs: isDraft ? [{ revision }] : [{ revision, dueAt: startsAt }],
    };
    const start = (more: object): Promise<unknown> => {
      const send = (searchable: object): Promise<unknown> => {
        const all = { ...options, ...searchable, ...more };
        return isOpen && revision === 1
          ? client.workflow.start('publishPost', all)
          : client.workflow.signalWithStart('publishPost', all);
      };
      return startSearchable(client, ofPost(workspaceId, searched, at), send);
    };
    await startOnce(place, post, start);
  }
}

async function notifyOfCancel(client: Client, { postId, revision }: PostToSync): Promise<void> {
  try {
    await client.workflow.getHandle(postWorkflowId(postId)).signal(cancel, { revision });
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) {
      throw error;
    }
  }
}

/** The signal keeps a workflow open that is about to end, so no request is lost. */
function startRemoval(
  client: Client,
  { workspaceId, postId, requestId }: PostToSync,
  { accounts }: SearchedPost,
): Promise<unknown> {
  const networks = accounts.map(({ network }) => network);
  const start = (searchable: object): Promise<unknown> =>
    client.workflow.signalWithStart('unpublishPost', {
      ...searchable,
      taskQueue: postsQueue,
      workflowId: unpublishWorkflowId(postId),
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      staticSummary: 'Removes a post from its networks',
      ...(requestId === undefined ? {} : { memo: { requestId } }),
      priority: { fairnessKey: workspaceId },
      args: [{ workspaceId, postId }],
      signal: unpublish,
      signalArgs: [],
    });
  return startSearchable(client, ofWorkspace(workspaceId, networks), start);
}

/** In bytes. Temporal allows 400 with the encoding's name. Each byte is stored while the post sleeps. */
const longestSummary = 340;

const mostAccounts = 5;

/** Names a post in Temporal's lists. It cannot be changed during a run; the attribute `DueAt` has the current time. */
export function postSummary({ accounts, externalId }: SearchedPost, due: string | null): string {
  const names = accounts
    .slice(0, mostAccounts)
    .map(({ network, handle }) => `${networkLabel(network)} ${inMarkdown(handle)}`);
  const more = accounts.length - names.length;
  const text = [
    [...names, ...(more > 0 ? [`${more} more`] : [])].join(', '),
    ...(due === null ? [] : [`first due ${moment(Date.parse(due))}`]),
    ...(externalId === null ? [] : [`external id ${inMarkdown(externalId)}`]),
  ].join(' · ');
  const bytes = Buffer.from(text);
  return bytes.length <= longestSummary
    ? text
    : `${bytes
        .subarray(0, longestSummary)
        .toString()
        .replace(/\u{FFFD}$/v, '')}…`;
}

class DatabaseOlderError extends Error {
  override readonly name = 'DatabaseOlderError';

  constructor(postId: string, { at }: LatestRun) {
    super(
      `The workflow of the post ${postId} published it, or received a change, by ${at.toISOString()}, and the database lacks that. ${restoredDatabase}`,
    );
  }
}

type Row = Pick<Post, 'status' | 'revision' | 'run'> & Record<'isOpen' | 'isLacking', boolean>;

type Place = { readonly client: Client; readonly em: Em };
type Policy = { readonly workflowIdReusePolicy: 'REJECT_DUPLICATE' | 'ALLOW_DUPLICATE' };

/** Starts or signals a post's workflow; after an earlier run, only if the database has what that run did and knew. */
async function startOnce(
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
