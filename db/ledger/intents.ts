import { sql } from 'kysely';
import type { NetworkLimit } from '../../domain/channel-error.ts';
import { isOpenChannel, publishingValues } from '../channel-status.ts';
import { newId } from '../new-id.ts';
import type { Em } from '../orm.ts';
import { query } from '../query.ts';
import type { OfAccount, LedgerEntry } from './entries.ts';
import { mayBeLiveInSql } from './parts.ts';

/** Another attempt on the channel went ahead or ended it, and records the result. */
export class SupersededError extends Error {
  override readonly name = 'SupersededError';
}

/** A rate limit was stored after the attempt began. */
export class LimitedError extends Error {
  override readonly name = 'LimitedError';
  readonly limit: NetworkLimit;

  constructor(limit: NetworkLimit) {
    super('A rate limit was met meanwhile.');
    this.limit = limit;
  }
}

/** A run of a post on one of its channels. */
export type Thread = OfAccount & {
  readonly postId: string;
  readonly run: number;
  /** The post's revision when the attempt read it. */
  readonly revision: number;
};

type ToSend = {
  /** The parts to send next. */
  readonly step: readonly LedgerEntry[];
  /** All unsent parts. */
  readonly remaining: readonly LedgerEntry[];
  /** It is the attempt's first intent, which starts the attempt. */
  readonly isFirst: boolean;
};
type Channel = {
  readonly may_send: boolean;
  readonly parked_until: Date | null;
};
type Marked = { readonly id: string; readonly sending_at: string | Date };

export const newEntry = (
  run: number,
  prepared: Pick<LedgerEntry, 'part' | 'key' | 'text' | 'media' | 'options' | 'data'>,
): LedgerEntry => ({
  ...prepared,
  id: newId(),
  run,
  state: 'new',
  sent: null,
  sendingAt: null,
  sendingForMs: null,
  sealedUploads: null,
});

/** Returns an entry as stored, but not sent. */
export const asReady = (entry: LedgerEntry): LedgerEntry => ({
  ...entry,
  state: entry.state === 'new' ? 'ready' : entry.state,
});

/** @returns false if another attempt had inserted some, or the post was deleted. */
export async function addEntries(
  em: Em,
  thread: Thread,
  entries: readonly LedgerEntry[],
  now: Date,
): Promise<boolean> {
  const { postChannelId, workspaceId } = thread;
  const added = await query(
    em,
    sql`insert into post_parts (${insertedColumns})
      select ${insertedValues(thread, now)}, 'ready', null
      from ${unnested(entries)}, (select from post_channels
        where id = ${postChannelId} and workspace_id = ${workspaceId} for key share) channel
      on conflict (post_channel_id, run, part) do nothing returning id`,
  );
  return added.length === entries.length;
}

const insertedColumns = sql`id, workspace_id, post_channel_id, channel_id, run, part, key, text, remote_data,
  created_at, updated_at, state, sending_at`;

/** Values for `insertedColumns`, except the last two. */
const insertedValues = ({ workspaceId, postChannelId, channelId, run }: Thread, now: Date) =>
  sql`entry.id, ${workspaceId}::uuid, ${postChannelId}::uuid, ${channelId}::uuid, ${run}::int, entry.part, entry.key,
    entry.text, entry.remote_data::jsonb, ${now}::timestamptz, ${now}::timestamptz`;

const unnested = (entries: readonly LedgerEntry[]) =>
  sql`unnest(${entries.map(({ id }) => id)}::uuid[], ${entries.map(({ part }) => part)}::int[],
    ${entries.map(({ key }) => key)}::text[], ${entries.map(({ text }) => text)}::text[],
    ${entries.map(({ data }) => JSON.stringify(data))}::text[]) as entry (id, part, key, text, remote_data)`;

/**
 * Commits the intent to send. Until an outcome is stored, no other attempt or run sends these parts.
 *
 * An attempt's first intent starts it: the channel becomes `publishing`, and from this moment a cancel lets it finish.
 * It refuses unless the post is publishing and unchanged since the attempt read it. Later ones send the rest of a
 * thread, also of a post that was cancelled since, but not of one that was scheduled again: its newest version is sent
 * at the new time, in a newer run. The channel's lock separates an intent from an edit and from the channel's end.
 *
 * The start of a send is the database's time, because another worker may reconcile it.
 *
 * @throws SupersededError if the post changed or another attempt went ahead; the next attempt finds the result.
 * @throws LimitedError
 */
export async function markSending(
  em: Em,
  thread: Thread,
  { step, remaining, isFirst }: ToSend,
  now: Date,
): Promise<LedgerEntry[]> {
  const isNew = step.some(({ state }) => state === 'new');
  const marked = await (isNew ? markNew : markKnown)(em, thread, { step, remaining, isFirst }, now);
  assertAll(marked, step);
  const begun = new Map(marked.map((row) => [row.id, new Date(row.sending_at)]));
  return step.map((entry) => ({
    ...entry,
    state: 'sending' as const,
    sendingAt: begun.get(entry.id) ?? null,
  }));
}

/**
 * Both variants lock the post before its channel, as all code does. A disconnect waits for the lock of its account, or
 * commits before it.
 */
const lockedChannel = (
  { workspaceId, postId, postChannelId, run, revision }: Thread,
  { isFirst }: ToSend,
) => sql`
  select pc.id, c.parked_until, c.disconnected_at is null and ${
    isFirst
      ? sql`p.status = 'publishing' and p.revision = ${revision}::int and ${isOpenChannel}`
      : sql`p.run = ${run}::int and pc.status = 'publishing'`
  } as may_send
  from posts p
  join post_channels pc on pc.post_id = p.id and pc.workspace_id = p.workspace_id
  join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
  where pc.id = ${postChannelId} and p.id = ${postId} and p.workspace_id = ${workspaceId} for share of p for update of pc
    for key share of c`;

const isFree = (now: Date) => sql`may_send and not coalesce(parked_until > ${now}, false)`;

/**
 * The first intent of a thread stores all its entries, which fixes the later parts too. One statement: it reads the
 * locked rows after waiting for them, and detects another attempt's entries by their key.
 */
async function markNew(em: Em, thread: Thread, toSend: ToSend, now: Date): Promise<Marked[]> {
  const { workspaceId, postChannelId, run } = thread;
  const { step, remaining } = toSend;
  const isNext = sql`entry.id = any(${step.map(({ id }) => id)}::uuid[])`;
  const [channel] = await query(
    em,
    sql<Channel & { marked: readonly Marked[] | null }>`
      with channel as materialized (${lockedChannel(thread, toSend)}),
      written as (
        insert into post_parts (${insertedColumns})
        select ${insertedValues(thread, now)}, case when ${isNext} then 'sending' else 'ready' end,
          case when ${isNext} then clock_timestamp() end
        from ${unnested(remaining)}, channel
        where ${isFree(now)}
          and not exists (
            select 1 from post_parts other
            where other.post_channel_id = ${postChannelId} and other.workspace_id = ${workspaceId}
              and (other.run >= ${run} or ${mayBeLiveInSql('other')}))
        on conflict (post_channel_id, run, part) do nothing returning id, state, sending_at),
      started as (
        update post_channels pc set ${publishingValues} from channel
        where pc.id = channel.id and pc.workspace_id = ${workspaceId} and exists (select from written))
      select may_send, parked_until, (select json_agg(written) from written where state = 'sending') as marked from channel`,
  );
  assertOpen(channel, now);
  return [...(channel?.marked ?? [])];
}

/** For a later part of a thread, or one that was not accepted before, with its renewed preparation. */
const markKnown = (em: Em, thread: Thread, toSend: ToSend, now: Date): Promise<Marked[]> =>
  em.transactional(async (within) => {
    const [channel] = await query(within, sql<Channel>`${lockedChannel(thread, toSend)}`);
    assertOpen(channel, now);
    const { workspaceId, postChannelId } = thread;
    const { step, isFirst } = toSend;
    const marked = await query(
      within,
      sql<Marked>`
        with started as (
          update post_channels pc set ${publishingValues}
          where ${isFirst} and pc.id = ${postChannelId} and pc.workspace_id = ${workspaceId})
        update post_parts pp set state = 'sending', sending_at = clock_timestamp(), updated_at = ${now},
          remote_data = known.remote_data::jsonb
        from unnest(${step.map(({ id }) => id)}::uuid[], ${step.map(({ data }) => JSON.stringify(data))}::text[],
          ${step.map(({ sealedUploads }) => sealedUploads)}::text[]) as known (id, remote_data, sealed_uploads)
        where pp.id = known.id and pp.workspace_id = ${workspaceId} and pp.state in ('ready', 'refused', 'doubted')
          and pp.sealed_uploads is not distinct from known.sealed_uploads
          and not exists (
            select 1 from post_parts other where other.post_channel_id = pp.post_channel_id
              and other.workspace_id = pp.workspace_id and other.id <> pp.id
              and (other.run > pp.run or (other.part = pp.part and ${mayBeLiveInSql('other')})))
        returning pp.id, pp.sending_at`,
    );
    assertAll(marked, step); // Within the transaction, so that either all are marked or none.
    return marked;
  });

/** @throws SupersededError */
function assertAll(marked: readonly Marked[], step: readonly LedgerEntry[]): void {
  if (marked.length !== step.length) {
    throw new SupersededError('Superseded by a newer attempt or run.');
  }
}

/** During the preparation, another post of the channel may have met a rate limit. */
function assertOpen(channel: Channel | undefined, now: Date): void {
  if (!channel?.may_send) {
    throw new SupersededError('The channel is no longer being sent.');
  }

  const { parked_until: until } = channel;
  if (until && until > now) {
    throw new LimitedError({ scope: 'channel', untilMs: until.getTime() });
  }
}
