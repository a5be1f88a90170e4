import { sql, type RawBuilder } from 'kysely';
import { isUnderWay, unconfirmedValues } from './channel-status.ts';
import { hasPossiblyLivePart } from './ledger/parts.ts';
import type { Em, Orm } from './orm.ts';
import { isOpenPost, dueAt } from './post-status.ts';
import { query } from './query.ts';

/**
 * Counter that workers increment in the database and then in Temporal. A lower count in the database shows that it was
 * restored.
 */
export type RestoreCounter = {
  /** Id of the database. */
  readonly installation: string;
  readonly count: number;
  readonly lastAt: Date | null;
  readonly isDue: boolean;
  /** Time at which a restore was detected, or of the first known change that it lost; null after `restore finish`. */
  readonly behindSince: Date | null;
};

const isDue = sql<boolean>`(beat_at is null or beat_at < now() - interval '50 seconds')`;

export async function readRestoreCounter(orm: Orm): Promise<RestoreCounter> {
  const [row] = await query(
    orm.em.fork(),
    sql<RestoreCounter>`select id as installation, beats as count, beat_at as "lastAt", ${isDue} as "isDue",
      behind_since as "behindSince" from installation`,
  );
  if (!row) {
    throw new Error('The table "installation" is empty.');
  }

  return row;
}

/**
 * @param from The count that was compared with Temporal's. Guards against a database that was replaced since.
 * @returns the new count; null if another worker incremented it first.
 */
export async function incrementRestoreCounter(orm: Orm, from: number): Promise<number | null> {
  const [row] = await query(
    orm.em.fork(),
    sql<{ beats: number }>`update installation set beats = beats + 1, beat_at = now()
      where beats = ${from}::int and ${isDue} returning beats`,
  );
  return row?.beats ?? null;
}

/**
 * Keeps workers from starting until `restore finish` if the database is behind Temporal's count by more than one: a
 * failover to an asynchronous standby may lose the last seconds, and must not stop everything.
 */
export async function markDatabaseBehind(orm: Orm, known: number): Promise<void> {
  await query(
    orm.em.fork(),
    sql`update installation set behind_since = now() where behind_since is null and beats + 1 < ${known}::int`,
  );
}

/** The same if the database lacks the result of a workflow. @param at When the workflow recorded it, if known. */
export async function markDatabaseOlder(em: Em, at: Date | null = null): Promise<void> {
  await query(em, sql`update installation set behind_since = least(behind_since, ${at}, now())`);
}

/** Whether workers wait for `restore finish`; false if the database does not respond. */
export const awaitsRestoreFinish = (orm: Orm): Promise<boolean> =>
  readRestoreCounter(orm).then(
    ({ behindSince }) => behindSince !== null,
    () => false,
  );

export const restoredDatabase =
  'The database is older than its workflows: it was restored from a backup or lost commits in a failover, and lacks what was published or changed since. Workers send nothing until "npm run admin -- restore finish" has run (docs/operate/backups.md).';

const doubt =
  'The service was restored from a backup, and may have published this since. Check this account, and any that you added to the post or removed from it since; then settle this channel.';

export type Finished = {
  readonly unconfirmedChannels: number;
  readonly syncedPosts: number;
  readonly syncedDeliveries: number;
};

/** Ids of posts, by the state of their workflows in Temporal. */
type ByWorkflow = {
  /** It ended since the backup began, and the database lacks that; or it runs and has begun to send. */
  readonly begun: readonly string[];
  /** It runs, has sent nothing, and has no change that the database lost. */
  readonly unsent: readonly string[];
  /** When the due posts were read. Workers wait, so a post that became due since was not sent. */
  readonly at: Date;
};

/** Returns the posts that should have been sent by now with their revisions, and the time by the database's clock. */
export async function duePosts(em: Em) {
  const [row] = await query<{ due: Record<string, number>; at: Date }>(
    em,
    sql`select now() as at, coalesce(jsonb_object_agg(id, revision), '{}') as due
      from posts where ${isOpenPost()} and ${dueAt()} <= now()`,
  );
  return { due: new Map(Object.entries(row?.due ?? {})), at: row?.at ?? new Date() };
}

/**
 * A revision above those that the workflows of the lost database have: seconds since 2026, so that each restore gives
 * higher ones, plus more than the changes of a post that one restore can lose.
 */
const restoredRevision = sql`greatest(revision, extract(epoch from now() - timestamptz '2026-01-01Z')::int) + 1000`;

/**
 * SQL: whether the database lost a change of a post, which is committed before the workflow is signalled. A revision
 * above that of `restore finish` was signalled by a person.
 *
 * @param known The newest revision that the post's workflow knows.
 */
export const lacksChange = (known: number): RawBuilder<boolean> =>
  sql`(revision < ${known}::int and ${known}::int < ${restoredRevision})`;

/**
 * Results after which channels of a post are, or may be, live, as its workflow knows, with the time at which the attempts
 * began, in milliseconds since 1970: by row id. A result may reach Temporal after a person has settled it.
 */
export type Published = Readonly<Record<string, { readonly status: string; readonly at: number }>>;

/**
 * SQL: the database lost one of these results of the post `p`. A later settlement of the channel takes its result back;
 * if the post no longer has the channel, one of any channel does, which only the audit log still shows.
 */
export const lacksResult = (published: Published): RawBuilder<boolean> =>
  sql`exists (select from jsonb_each(${JSON.stringify(published)}::jsonb) known
    left join post_channels pc on pc.post_id = p.id and pc.workspace_id = p.workspace_id and pc.id::text = known.key
    where coalesce(pc.status not in ('published', 'unconfirmed'), known.value->>'status' = 'published')
      and coalesce(case when pc.id is null then (select max(a.at) from audit_log a where a.object_id = p.id
          and a.workspace_id = p.workspace_id and a.action = 'post.settled') else pc.settled_at end, '-infinity')
        < to_timestamp((known.value->>'at')::float8 / 1000))`;

/**
 * Makes a restored database safe to use, in the caller's transaction. Channels that may have been published since the
 * backup become unconfirmed and are not sent: those of posts that were due, unless their workflow has sent nothing; of
 * posts whose workflow ended since, or has begun to send; and those being sent. All posts that have not ended get
 * revisions above those of their workflows, so that they are synced and their next runs differ from lost ones.
 *
 * @param atLeast The count in Temporal.
 */
export async function finishRestore(
  em: Em,
  { begun, unsent, at }: ByWorkflow,
  atLeast: number,
): Promise<Finished> {
  const channels = await doubtPosts(
    em,
    sql`p.id = any(${begun}::uuid[])
      or (${isOpenPost('p')} and ${dueAt('p')} <= ${at} and p.id <> all(${unsent}::uuid[]))`,
  );
  // Channels that were being sent at the backup although their post was cancelled. The others that are under way only
  // waited for their turn.
  const sending = await query(
    em,
    sql`update post_channels pc set ${unconfirmedValues(doubt)}
      where ${isUnderWay} and (pc.post_id <> all(${unsent}::uuid[]) or ${hasPossiblyLivePart}) returning id`,
  );
  await openDoubtedParts(em);
  // A workflow may sleep until a lost time of a draft: a new time has to be above its revision too.
  const posts = await query(
    em,
    sql`with drafts as (
        update posts set revision = ${restoredRevision}, synced_revision = ${restoredRevision} where status = 'draft')
      update posts set revision = ${restoredRevision} where ${isOpenPost()} returning id`,
  );
  const deliveries = await query(
    em,
    sql`update deliveries set round = round + 1 where status = 'pending' returning id`,
  );
  await query(
    em,
    sql`update installation set beats = greatest(beats, ${atLeast}::int) + 1, beat_at = now(), behind_since = null`,
  );
  return {
    unconfirmedChannels: channels + sending.length,
    syncedPosts: posts.length,
    syncedDeliveries: deliveries.length,
  };
}

/**
 * A channel that is unconfirmed keeps its reason, unless its post had ended: then it may have been sent again since.
 *
 * @param which SQL: condition on the post `p`. @returns the number of channels that become unconfirmed.
 */
async function doubtPosts(em: Em, which: RawBuilder<unknown>): Promise<number> {
  // Before the statement that reads the channels, so that it sees those of an edit under way.
  await query(em, sql`select from posts p where ${which} order by id for update`);
  const [failed] = await query<{ channels: number }>(
    em,
    sql`with doubtful as materialized (
      select p.id, p.workspace_id, p.status from posts p
      where (${which}) and exists (select from post_channels pc
        where pc.post_id = p.id and pc.workspace_id = p.workspace_id and pc.status <> 'published')
      for update
    ), channels as (
      update post_channels pc set ${unconfirmedValues(doubt)}
      from doubtful d join post_channels was on was.post_id = d.id and was.workspace_id = d.workspace_id
      where pc.id = was.id and pc.workspace_id = was.workspace_id and pc.status <> 'published'
        and (pc.status <> 'unconfirmed' or d.status = 'failed')
      returning was.status
    ), failed as (
      update posts p set status = 'failed', revision = ${restoredRevision}, updated_at = now()
      from doubtful d where p.id = d.id and p.workspace_id = d.workspace_id
    )
    select count(*) filter (where status <> 'unconfirmed')::int as channels from channels`,
  );
  return failed?.channels ?? 0;
}

/** The parts of the channels in doubt become open too, so that they are settled with the channel. */
const openDoubtedParts = (em: Em): Promise<unknown> =>
  query(
    em,
    sql`update post_parts a set state = 'sending', sending_at = now(), updated_at = now()
      from post_channels pc
      where pc.id = a.post_channel_id and pc.workspace_id = a.workspace_id and a.state in ('ready', 'refused')
        and pc.status = 'unconfirmed' and pc.error = ${doubt}`,
  );

/**
 * Makes a post unconfirmed if the database has lost that its workflow published it, in a failover that nobody noticed:
 * it would be published again. The workers stop.
 *
 * @returns whether the post became unconfirmed.
 */
export async function doubtLostResult(
  em: Em,
  { workspaceId, postId }: Readonly<Record<'workspaceId' | 'postId', string>>,
  published: Published,
): Promise<boolean> {
  const isLost = sql`p.id = ${postId} and p.workspace_id = ${workspaceId} and ${lacksResult(published)}`;
  const isDoubted = Object.keys(published).length > 0 && (await doubtPosts(em, isLost)) > 0;
  if (isDoubted) {
    await openDoubtedParts(em);
    await markDatabaseOlder(em);
  }

  return isDoubted;
}
