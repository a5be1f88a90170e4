import type { Em } from '../../db/orm.ts';
import { sumMetrics } from '../../db/sum-metrics.ts';

/** Sums the metrics of a workspace's posts, which a test stored by SQL, as the service does when a post ends. */
export async function sumAllMetrics(em: Em, workspaceId: string): Promise<void> {
  const posts = await em.execute<{ id: string }[]>('select id from posts where workspace_id = ?', [
    workspaceId,
  ]);
  await sumMetrics(
    em,
    workspaceId,
    posts.map(({ id }) => id),
  );
}
