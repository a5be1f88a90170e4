import type { Client } from '@temporalio/client';
import { sql, type RawBuilder } from 'kysely';
import { isUnderWay } from '../db/channel-status.ts';
import type { Em } from '../db/orm.ts';
import { dueAt, isEndedPost } from '../db/post-status.ts';
import { query } from '../db/query.ts';
import type { DeliveryToSync, PostToSync } from '../domain/to-sync.ts';
import { syncDelivery } from '../temporal/sync-delivery.ts';
import { syncPost } from '../temporal/sync-post.ts';

/** Rows that are not synced with Temporal yet. */
export type Outbox = {
  readonly name: string;
  /** Claims rows until the transaction ends. Skips rows that another relay has claimed. */
  readonly claim: (em: Em, portion: Portion) => Promise<UnsyncedRow[]>;
};

type Portion = {
  readonly limit: number;
  readonly except: readonly string[];
  /** Time that a changed post is left to the process that changed it, in milliseconds. Does not apply to deliveries. */
  readonly graceMs: number;
};

type UnsyncedRow = {
  readonly id: string;
  /** @param apart Outside the claiming transaction, so that the mark commits at once. @throws ServiceError */
  readonly sync: (client: Client, apart: Em) => Promise<void>;
};

type PostRow = Omit<PostToSync, 'dueAt'> & { readonly dueAt: Date | null };

/** Number of rows searched for unclaimed ones. */
const window = 400;

type Expression = RawBuilder<unknown>;

type Source = {
  readonly columns: Expression;
  readonly table: Expression;
  readonly unsynced: Expression;
  readonly order: Expression;
  /** Selects the ids to claim from, in order of preference. @param waits Rows that are unsynced and not skipped. */
  readonly candidates: (waits: Expression) => Expression;
};

/**
 * Uses advisory locks, so that an edit or a claim of the post does not wait for Temporal. The rows are read again
 * afterwards, which drops those that another relay synced meanwhile.
 */
async function claimRows<Row>(
  em: Em,
  { columns, table, unsynced, order, candidates }: Source,
  { limit, except }: Portion,
): Promise<Row[]> {
  const waits = sql`${unsynced} and id <> all(${except}::uuid[])`;
  const claimed = await query<{ id: string }>(
    em,
    sql`select id from (${candidates(waits)}) as candidate
      where pg_try_advisory_xact_lock(hashtextextended(id::text, 0)) limit ${limit}::int`,
  );
  return claimed.length === 0
    ? []
    : query<Row>(
        em,
        sql`select ${columns} from ${table}
          where id = any(${claimed.map(({ id }) => id)}::uuid[]) and ${unsynced} order by ${order}`,
      );
}

const isStillSending = sql`status = 'draft' and exists (select 1 from post_channels pc where pc.post_id = posts.id
  and pc.workspace_id = posts.workspace_id and ${isUnderWay})`;

const isSettled = sql`${isEndedPost()} and exists (select 1 from post_channels pc where pc.post_id = posts.id
  and pc.workspace_id = posts.workspace_id and pc.settled_at is not null)`;

const now = sql`clock_timestamp()`;

/** Number of posts with a time that are claimed for each draft, while there are both. */
const timedForEachDraft = 4;

/**
 * Posts in order of time, so that after an outage the longest overdue go first. A cancel is less urgent: a workflow that
 * missed it finds the draft at its time. The end of a workspace makes thousands of drafts, which must not delay due
 * posts, nor wait until no post is left. Both kinds are read from the index `posts_unsynced`, in its order.
 */
const byTurns = (waits: Expression): Expression => {
  const byIndex = sql`${dueAt()} nulls first`;
  const turn = sql`row_number() over (order by ${byIndex})`;
  const rest = sql`order by ${byIndex} limit ${sql.lit(window)}`;
  return sql`select id from (
      (select id, ${turn} as turn from posts where ${waits} and ${dueAt()} is not null ${rest})
      union all
      (select id, ${turn} * ${sql.lit(timedForEachDraft)} from posts where ${waits} and ${dueAt()} is null ${rest})
    ) as either order by turn limit ${sql.lit(window)}`;
};

const posts: Outbox = {
  name: 'post',
  claim: async (em, portion) => {
    const grace = sql`${portion.graceMs}::int * interval '1 millisecond'`;
    const source: Source = {
      columns: sql`id as "postId", workspace_id as "workspaceId", status, revision, ${dueAt()} as "dueAt",
        ${isStillSending} as "isStillSending", ${isSettled} as "isSettled", is_being_removed as "isBeingRemoved"`,
      table: sql.table('posts'),
      unsynced: sql`synced_revision < revision and not (updated_at between ${now} - ${grace} and ${now})`,
      order: sql`${dueAt()} nulls last`,
      candidates: byTurns,
    };
    const rows = await claimRows<PostRow>(em, source, portion);
    return rows.map((row) => ({
      id: row.postId,
      sync: (client, apart) =>
        syncPost(client, apart, { ...row, dueAt: row.dueAt?.toISOString() ?? null }),
    }));
  },
};

/** Round robin over endpoints, so that hundreds of replays to one do not delay another. */
const byEndpoint = sql`row_number() over (partition by endpoint_id order by id), id`;

const replayedDeliveries: Outbox = {
  name: 'delivery',
  claim: async (em, portion) => {
    const source: Source = {
      columns: sql`id as "deliveryId", workspace_id as "workspaceId", round`,
      table: sql.table('deliveries'),
      unsynced: sql`synced_round < round`,
      order: byEndpoint,
      candidates: (waits) =>
        sql`select id from deliveries where ${waits} order by ${byEndpoint} limit ${sql.lit(window)}`,
    };
    const rows = await claimRows<DeliveryToSync>(em, source, portion);
    return rows.map((delivery) => ({
      id: delivery.deliveryId,
      sync: (client, apart) => syncDelivery(client, apart, delivery),
    }));
  },
};

/** Posts first, because they are due at a time. */
export const outboxes: readonly Outbox[] = [posts, replayedDeliveries];
