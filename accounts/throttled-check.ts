import { sql } from 'kysely';
import { query } from '../db/query.ts';
import { checkChannel, type CheckDeps, type Checked } from './check-channel.ts';
import type { ChannelKey } from './grants.ts';

/** In milliseconds. Each check counts against the network's rate limit, or costs the operator money. */
const minIntervalMs = 5 * 60_000;

/** @param at When the network was asked, in ISO 8601. */
type Answer = Checked & { readonly at: string };

type Row = {
  readonly state: string;
  readonly error: string | null;
  readonly check_answer: Answer | null;
};

/**
 * Runs `checkChannel` at most once in five minutes, and otherwise returns the last answer.
 *
 * @returns null when the channel does not exist.
 */
export async function throttledCheck(deps: CheckDeps, key: ChannelKey): Promise<Answer | null> {
  const now = deps.now();
  const own = sql`id = ${key.channelId} and workspace_id = ${key.workspaceId}`;
  const write = (set: ReturnType<typeof sql>) =>
    query(deps.orm.em.fork(), sql`update channels set ${set} where ${own} and checked_at = ${now}`);
  const claimed = await query(
    deps.orm.em.fork(),
    sql`update channels set checked_at = ${now} where ${own} and disconnected_at is null
      and (checked_at is null or checked_at <= ${new Date(now.getTime() - minIntervalMs)}) returning id`,
  );
  if (claimed.length === 0) {
    return lastAnswer(deps, key);
  }

  try {
    const checked = await checkChannel(deps, key);
    const answer = checked && { ...checked, at: now.toISOString() };
    await write(sql`check_answer = ${JSON.stringify(answer)}::jsonb`);
    return answer;
  } catch (error) {
    await write(sql`checked_at = null`);
    throw error;
  }
}

async function lastAnswer({ orm, now }: CheckDeps, key: ChannelKey): Promise<Answer | null> {
  const [row] = await query(
    orm.em.fork(),
    sql<Row>`select state, error, check_answer from channels
      where id = ${key.channelId} and workspace_id = ${key.workspaceId} and disconnected_at is null`,
  );
  if (!row) {
    return null;
  }

  const at = row.check_answer?.at ?? now().toISOString();
  if (row.state === 'needs_reconnect') {
    // A post may have lost the access since the last check.
    return { access: 'needs_reconnect', reason: row.error ?? 'Connect the channel again.', at };
  }

  const reason = 'A check is already running. Try again in a few seconds.';
  return row.check_answer ?? { access: 'unknown', reason, at };
}
