import { sql } from 'kysely';
import type { Em } from './orm.ts';
import { query } from './query.ts';

type Endpoint = { readonly endpointId: string; readonly workspaceId: string };

/** Counts the due deliveries that wait for an endpoint's slots, up to a limit, because counting takes time. */
export async function countWaiting(
  em: Em,
  { endpointId, workspaceId }: Endpoint,
  most: number,
): Promise<number> {
  const [row] = await query<{ waiting: number }>(
    em,
    sql`select count(*)::int as waiting from (
        select next_attempt_at from deliveries
        where endpoint_id = ${endpointId} and workspace_id = ${workspaceId} and status = 'pending'
        order by created_at desc, id desc limit ${sql.lit(most)}) as latest
      where next_attempt_at is null or next_attempt_at <= clock_timestamp()`,
  );
  return row?.waiting ?? 0;
}
