import type { Client } from '@temporalio/client';
import { networksOfPost } from '../db/networks-of-post.ts';
import type { Em } from '../db/orm.ts';
import { syncDelivery } from '../temporal/sync-delivery.ts';
import { syncPost } from '../temporal/sync-post.ts';

/** Rows that Temporal has yet to hear of. */
export type Outbox = {
  /** What its rows are called in the log. */
  readonly name: string;
  /** Claims rows until the transaction ends. What another relay has claimed is passed over. */
  readonly take: (em: Em, portion: Portion) => Promise<Untold[]>;
};

export type Portion = {
  /** How many rows at most. */
  readonly limit: number;
  /** Ids of rows that are left for later. */
  readonly except: readonly string[];
  /**
   * So long is a post left to whoever changed it, in milliseconds. By the clocks of the API and the database: where
   * these differ by more, it is left for no time. A delivery's row does not say when it was changed, so it is not left.
   */
  readonly graceMs: number;
};

export type Untold = {
  readonly id: string;
  /**
   * Tells Temporal, and remembers it.
   *
   * @param apart Outside of the transaction that claims: what is remembered is committed at once and locks nothing.
   * @throws ServiceError when Temporal does not take it.
   */
  readonly tell: (client: Client, apart: Em) => Promise<void>;
};

type PostRow = {
  id: string;
  workspace_id: string;
  status: string;
  revision: number;
  due_at: string | Date | null;
  is_unfinished: boolean;
  networks: string[];
};

type DeliveryRow = { id: string; workspace_id: string; round: number };

/** How many rows are looked through for some that no other relay holds. */
const window = 400;

/**
 * Claims rows for this relay alone until the transaction ends, without holding the rows themselves: an edit or the
 * start of publishing must not wait for Temporal to answer. What another relay told of just now shows when the rows
 * are read again.
 *
 * @param columns What is read of each row, its id among them.
 * @param from The table, and in which order its rows come.
 */
async function claim<Row>(em: Em, { columns, from, limit, except }: Search): Promise<Row[]> {
  const { table, untold, order } = from;
  const claimed = await em.execute<{ id: string }[]>(
    `select id from (
       select id from ${table} where ${untold} and id <> all(?::uuid[]) order by ${order} limit ?) as candidate
     where pg_try_advisory_xact_lock(hashtextextended(id::text, 0)) limit ?`,
    [`{${except.join(',')}}`, window, limit],
  );
  return claimed.length === 0
    ? []
    : em.execute<Row[]>(
        `select ${columns} from ${table} where id in (?) and ${untold} order by ${order}`,
        [claimed.map(({ id }) => id)],
      );
}

type Search = Pick<Portion, 'limit' | 'except'> & {
  readonly columns: string;
  readonly from: Source;
};

/** Pieces of SQL. */
type Source = { readonly table: string; readonly untold: string; readonly order: string };

const dueAt = 'coalesce(retried_at, scheduled_at)';

/** In order of their time, so that after an outage what is overdue longest goes first. A cancel waits for no time. */
const posts: Outbox = {
  name: 'post',
  take: async (em, { limit, except, graceMs }) => {
    const now = 'clock_timestamp()';
    const justChanged = `updated_at between ${now} - interval '${graceMs} milliseconds' and ${now}`;
    const untold = `synced_revision < revision and not (${justChanged})`;
    const rows = await claim<PostRow>(em, {
      columns: `id, workspace_id, status, revision, ${dueAt} as due_at, ${networksOfPost} as networks,
        status = 'draft' and exists (select 1 from post_channels pc where pc.post_id = posts.id
          and pc.workspace_id = posts.workspace_id and pc.status in ('publishing', 'retrying')) as is_unfinished`,
      from: { table: 'posts', untold, order: `${dueAt} nulls first` },
      limit,
      except,
    });
    return rows.map((row) => ({
      id: row.id,
      tell: (client, apart) => syncPost(client, apart, told(row)),
    }));
  },
};

const told = (row: PostRow) => ({
  workspaceId: row.workspace_id,
  postId: row.id,
  status: row.status,
  revision: row.revision,
  isUnfinished: row.is_unfinished,
  dueAt: row.due_at === null ? null : new Date(row.due_at).toISOString(),
  networks: row.networks,
});

/** By turns, one of each endpoint: hundreds that are replayed to one hold up nobody else's few. */
const byTurns = 'row_number() over (partition by endpoint_id order by id), id';

const replayedDeliveries: Outbox = {
  name: 'delivery',
  take: async (em, { limit, except }) => {
    const rows = await claim<DeliveryRow>(em, {
      columns: 'id, workspace_id, round',
      from: { table: 'deliveries', untold: 'synced_round < round', order: byTurns },
      limit,
      except,
    });
    return rows.map(({ id, workspace_id: workspaceId, round }) => ({
      id,
      tell: (client, apart) => syncDelivery(client, apart, { workspaceId, deliveryId: id, round }),
    }));
  },
};

/** Posts first: they have a time to keep. */
export const outboxes: readonly Outbox[] = [posts, replayedDeliveries];
