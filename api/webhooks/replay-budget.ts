import type { Em } from '../../db/orm.ts';
import { AppError } from '../../domain/errors.ts';

/** Deliveries of a workspace that may be replayed in a minute: each is a workflow, and up to six requests. */
export const maxReplayed = 2000;

const windowMs = 60_000;

/**
 * How many deliveries this workspace may replay now. Until the transaction ends nobody else replays any of it, so that
 * the limit holds however many ask at once. The window begins with the first replay after the last one ended.
 *
 * @throws AppError `rate_limited` when there are none left.
 */
export async function replaysLeft(em: Em, workspaceId: string): Promise<number> {
  const now = '(extract(epoch from clock_timestamp()) * 1000)::bigint';
  const [row] = await em.execute<{ points: number; ends_in_ms: number }[]>(
    `insert into rate_limits as r (key, points, expire) values (?, 0, ${now} + ${windowMs})
     on conflict (key) do update set
       points = case when r.expire > ${now} then r.points else 0 end,
       expire = case when r.expire > ${now} then r.expire else excluded.expire end
     returning points, (expire - ${now})::int as ends_in_ms`,
    [keyOf(workspaceId)],
  );
  const left = maxReplayed - (row?.points ?? 0);
  if (left <= 0) {
    const retryAfter = Math.max(Math.ceil((row?.ends_in_ms ?? windowMs) / 1000), 1);
    const message = `More than ${maxReplayed} deliveries of this workspace replayed in a minute. Go on in ${retryAfter} s.`;
    throw new AppError('rate_limited', message, { retryAfter });
  }

  return left;
}

/** Counts what was begun, in the transaction that asked how many are left. */
export async function countReplays(em: Em, workspaceId: string, count: number): Promise<void> {
  await em.execute('update rate_limits set points = points + ? where key = ?', [
    count,
    keyOf(workspaceId),
  ]);
}

const keyOf = (workspaceId: string): string => `replays:${workspaceId}`;
