import type { Em, Orm } from '../../../db/orm.ts';

export type Query = { readonly sql: string; readonly values: readonly unknown[] };

/** An entity manager that keeps what it is asked. */
export function watched(em: Em): { em: Em; queries: Query[] } {
  const queries: Query[] = [];
  const execute = em.execute.bind(em);
  const kept = Object.assign(em, {
    execute: (sql: string, values: unknown[] = []) => {
      queries.push({ sql, values });
      return execute(sql, values);
    },
  });
  return { em: kept as Em, queries };
}

/** How PostgreSQL runs a query. */
export async function planOf(orm: Orm, query: Query | undefined): Promise<string> {
  if (!query) {
    throw new Error('Nothing was asked.');
  }

  const rows = await orm.em
    .fork()
    .execute<Record<string, string>[]>(`explain ${query.sql}`, [...query.values]);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}

/** Gives each endpoint of a workspace so many delivered deliveries more, a minute apart, with an attempt each. */
export async function storeMany(orm: Orm, workspaceId: string, count: number): Promise<void> {
  const em = orm.em.fork();
  await em.execute(
    `with new as (
       insert into events (id, workspace_id, type, body, created_at)
       select gen_random_uuid(), ?, 'post.failed', '{}', timestamptz '2026-01-01' + n * interval '1 minute'
       from generate_series(1, ?::int) n returning id, created_at)
     insert into deliveries (id, workspace_id, endpoint_id, event_id, status, created_at)
     select gen_random_uuid(), w.workspace_id, w.id, new.id, 'delivered', new.created_at
     from new, webhook_endpoints w where w.workspace_id = ?`,
    [workspaceId, count, workspaceId],
  );
  await em.execute(
    `insert into delivery_attempts (id, workspace_id, delivery_id, number, created_at, duration_ms, response_status)
     select gen_random_uuid(), workspace_id, id, 1, created_at, 5, 204 from deliveries where workspace_id = ?`,
    [workspaceId],
  );
  await em.execute('analyze');
}
