import type { Client } from '@temporalio/client';
import type { Em } from '../db/orm.ts';
import { syncDelivery } from '../temporal/sync-delivery.ts';
import { syncPost } from '../temporal/sync-post.ts';

/** Rows that Temporal has yet to hear of. */
export type Outbox = {
  /** What its rows are called in the log. */
  readonly name: string;
  /** Takes at most `limit` rows and holds them until the transaction ends. What another relay holds is passed over. */
  readonly take: (em: Em, limit: number) => Promise<Untold[]>;
};

export type Untold = {
  readonly id: string;
  /** Tells Temporal, and remembers it. @throws ServiceError when Temporal does not take it. */
  readonly tell: (client: Client) => Promise<void>;
};

type PostRow = {
  id: string;
  workspace_id: string;
  status: string;
  revision: number;
  due_at: string | Date | null;
};

type DeliveryRow = { id: string; workspace_id: string; round: number };

const posts: Outbox = {
  name: 'post',
  take: async (em, limit) => {
    const rows = await em.execute<PostRow[]>(
      `select id, workspace_id, status, revision, coalesce(retried_at, scheduled_at) as due_at from posts
       where synced_revision < revision order by updated_at limit ? for update skip locked`,
      [limit],
    );
    return rows.map((row) => ({
      id: row.id,
      tell: (client) => syncPost(client, em, told(row)),
    }));
  },
};

const told = ({ id, workspace_id, status, revision, due_at: at }: PostRow) => ({
  workspaceId: workspace_id,
  postId: id,
  status,
  revision,
  dueAt: at === null ? null : new Date(at).toISOString(),
});

const replayedDeliveries: Outbox = {
  name: 'delivery',
  take: async (em, limit) => {
    const rows = await em.execute<DeliveryRow[]>(
      `select id, workspace_id, round from deliveries
       where synced_round < round order by id limit ? for update skip locked`,
      [limit],
    );
    return rows.map(({ id, workspace_id: workspaceId, round }) => ({
      id,
      tell: (client) => syncDelivery(client, em, { workspaceId, deliveryId: id, round }),
    }));
  },
};

/** Posts first: they have a time to keep. */
export const outboxes: readonly Outbox[] = [posts, replayedDeliveries];
