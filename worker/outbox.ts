import type { Client } from '@temporalio/client';
import { sql, type RawBuilder } from 'kysely';
import { dueAt } from '../db/post-columns.ts';
import { networksOfPost } from '../db/post-columns.ts';
import type { Em } from '../db/orm.ts';
import { query } from '../db/query.ts';
import { syncDelivery } from '../temporal/sync-delivery.ts';
import { syncPost } from '../temporal/sync-post.ts';

/** Rows of which Temporal is behind. */
export type Outbox = {
  /** What its rows are called in the log. */
  readonly name: string;
  /** Claims rows until the transaction ends. What another relay has claimed is passed over. */
  readonly claim: (em: Em, portion: Portion) => Promise<UnsyncedRow[]>;
};

type Portion = {
  /** How many rows at most. */
  readonly limit: number;
  /** Ids of rows that are left for later. */
  readonly except: readonly string[];
  /**
   * So long is a post left to the process that changed it, in milliseconds. By the clocks of the API and the database:
   * where these differ by more, it is left for no time. A delivery's row does not say when it was changed, so it is not
   * left.
   */
  readonly graceMs: number;
};

type UnsyncedRow = {
  readonly id: string;
  /**
   * Starts or signals its workflow, and marks it synced.
   *
   * @param apart Outside of the transaction that claims: the mark is committed at once and locks nothing.
   * @throws ServiceError when Temporal does not take it.
   */
  readonly sync: (client: Client, apart: Em) => Promise<void>;
};

type PostRow = {
  id: string;
  workspace_id: string;
  status: string;
  revision: number;
  due_at: Date | null;
  is_unfinished: boolean;
  is_settled: boolean;
  networks: string[];
};

type DeliveryRow = { id: string; workspace_id: string; round: number };

/** How many rows are looked through for some that no other relay holds. */
const window = 400;

/**
 * Claims rows for this relay alone until the transaction ends, without locking the rows themselves: an edit or the
 * start of publishing must not wait for Temporal to answer. What another relay synced just now shows when the rows
 * are read again.
 */
async function claimRows<Row>(
  em: Em,
  { columns, table, unsynced, order, candidates = inOrder }: Source,
  { limit, except }: Portion,
): Promise<Row[]> {
  const waits = sql`${unsynced} and id <> all(${except}::uuid[])`;
  const claimed = await query<{ id: string }>(
    em,
    sql`select id from (${candidates({ table, waits, order })}) as candidate
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

type Expression = RawBuilder<unknown>;

/** Pieces of SQL. */
type Source = {
  /** What is read of each row, its id among them. */
  readonly columns: Expression;
  readonly table: Expression;
  readonly unsynced: Expression;
  /** In which claimed rows are synced. */
  readonly order: Expression;
  /** Selects the ids of those that are looked through, first come first claimed. All of them in that order unless given. */
  readonly candidates?: (of: Candidates) => Expression;
};

type Candidates = Pick<Source, 'table' | 'order'> & {
  /** Whether a row is unsynced and not left for later. */
  readonly waits: Expression;
};

const inOrder = ({ table, waits, order }: Candidates): Expression =>
  sql`select id from ${table} where ${waits} order by ${order} limit ${sql.lit(window)}`;

const isUnfinished = sql`status = 'draft' and exists (select 1 from post_channels pc where pc.post_id = posts.id
  and pc.workspace_id = posts.workspace_id and pc.status in ('publishing', 'retrying'))`;

const isSettled = sql`status in ('published', 'failed') and exists (select 1 from post_channels pc where pc.post_id = posts.id
  and pc.workspace_id = posts.workspace_id and pc.settled_at is not null)`;

const now = sql`clock_timestamp()`;

/** So many posts that have a time are claimed for each draft, while there are both. */
const timedForEachDraft = 4;

/**
 * Posts that have a time go in its order, so that after an outage what is overdue longest goes first. A cancel is not as
 * urgent: a workflow that did not hear of it finds the draft at its time, and sends nothing. One disconnection makes
 * thousands of them, behind which nothing that is due may wait; nor do they wait until no post is left.
 *
 * Each of the two is read from the index `posts_unsynced`, in its order, up to the limit.
 */
const byTurns = ({ table, waits }: Candidates): Expression => {
  const byIndex = sql`${dueAt()} nulls first`;
  const turn = sql`row_number() over (order by ${byIndex})`;
  const rest = sql`order by ${byIndex} limit ${sql.lit(window)}`;
  return sql`select id from (
      (select id, ${turn} as turn from ${table} where ${waits} and ${dueAt()} is not null ${rest})
      union all
      (select id, ${turn} * ${sql.lit(timedForEachDraft)} from ${table} where ${waits} and ${dueAt()} is null ${rest})
    ) as either order by turn limit ${sql.lit(window)}`;
};

const posts: Outbox = {
  name: 'post',
  claim: async (em, portion) => {
    const grace = sql`${portion.graceMs}::int * interval '1 millisecond'`;
    const source: Source = {
      columns: sql`id, workspace_id, status, revision, ${dueAt()} as due_at, ${networksOfPost} as networks,
        ${isUnfinished} as is_unfinished, ${isSettled} as is_settled`,
      table: sql.table('posts'),
      unsynced: sql`synced_revision < revision and not (updated_at between ${now} - ${grace} and ${now})`,
      order: sql`${dueAt()} nulls last`,
      candidates: byTurns,
    };
    const rows = await claimRows<PostRow>(em, source, portion);
    return rows.map((row) => ({
      id: row.id,
      sync: (client, apart) => syncPost(client, apart, postToSync(row)),
    }));
  },
};

const postToSync = (row: PostRow) => ({
  workspaceId: row.workspace_id,
  postId: row.id,
  status: row.status,
  revision: row.revision,
  isUnfinished: row.is_unfinished,
  isSettled: row.is_settled,
  dueAt: row.due_at?.toISOString() ?? null,
  networks: row.networks,
});

const replayedDeliveries: Outbox = {
  name: 'delivery',
  claim: async (em, portion) => {
    const source: Source = {
      columns: sql`id, workspace_id, round`,
      table: sql.table('deliveries'),
      unsynced: sql`synced_round < round`,
      // Round robin over the endpoints: hundreds of replays to one do not hold up the few of another.
      order: sql`row_number() over (partition by endpoint_id order by id), id`,
    };
    const rows = await claimRows<DeliveryRow>(em, source, portion);
    return rows.map(({ id, workspace_id: workspaceId, round }) => ({
      id,
      sync: (client, apart) => syncDelivery(client, apart, { workspaceId, deliveryId: id, round }),
    }));
  },
};

/** Posts first: they have a time to keep. */
export const outboxes: readonly Outbox[] = [posts, replayedDeliveries];
