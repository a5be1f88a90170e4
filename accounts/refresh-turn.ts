import { sql } from 'kysely';
import { query } from '../db/query.ts';
import type { AccountDeps } from './deps.ts';
import type { ChannelKey } from './grants.ts';

// One process at a time refreshes a grant, over all workers: a network that takes each refresh token once ends the whole
// grant when it sees one again. Whose turn it is stands in the grant's row. No lock is held while the network is asked,
// since a connection to the database for each channel whose network hangs would leave none for other posts.

/** For so long a turn lasts without a word, in seconds: whoever has it renews it, so a dead process is noticed soon. */
const turnSeconds = sql.lit(15);

/** In milliseconds; below a third of that. */
const renewMs = 5000;

/** How long nobody asks again after a refresh that failed, while the old access token can be used, in seconds. */
const pauseSeconds = sql.lit(30);

/** How long who has bought a new grant waits between two tries to store it, in milliseconds. */
export const storeWaitMs = 250;

/**
 * How long who takes over a turn that was not ended waits before it asks the network, in milliseconds: its last holder may
 * live, and have a new grant that it could not store while the database was away.
 */
export const takeOverMs = 4 * storeWaitMs;

/** A refresh of a grant as it was read: nothing is written where that is another by now. */
export type Turn = ChannelKey & {
  readonly sealed: string;
  /** Of this refresh, a UUID: who stood still, and was taken for dead, has no say in its successor's turn. */
  readonly by: string;
};

const at = ({ workspaceId, channelId, sealed }: Turn) =>
  sql`channel_id = ${channelId} and workspace_id = ${workspaceId} and sealed_grant = ${sealed}`;

const isHeld = (turn: Turn) => sql`${at(turn)} and refreshing_by = ${turn.by}`;

const fromNow = sql`clock_timestamp() + ${turnSeconds} * interval '1 second'`;

/** @returns whether it is this process's turn: not while another one has it, or when the grant was replaced. */
export async function takeTurn({ orm }: Pick<AccountDeps, 'orm'>, turn: Turn) {
  const taken = await query(
    orm.em.fork(),
    sql`update channel_grants set refreshing_until = ${fromNow}, refreshing_by = ${turn.by}
      where ${at(turn)} and (refreshing_until is null or refreshing_until <= clock_timestamp())
      returning channel_id`,
  );
  return taken.length > 0;
}

/** Keeps the turn until the returned function is called. */
export function keepTurn({ orm }: Pick<AccountDeps, 'orm'>, turn: Turn): () => void {
  const timer = setInterval(() => {
    query(
      orm.em.fork(),
      sql`update channel_grants set refreshing_until = ${fromNow} where ${isHeld(turn)}`,
    ).catch(() => undefined); // While the database is away nobody else can take it.
  }, renewMs);
  return () => clearInterval(timer);
}

/** Ends a turn in which the network did not answer. @param pauses Whether the old access token can still be used. */
export async function endTurn(
  { orm, now }: Pick<AccountDeps, 'orm' | 'now'>,
  turn: Turn,
  { pauses }: { readonly pauses: boolean },
): Promise<void> {
  const until = pauses ? sql`clock_timestamp() + ${pauseSeconds} * interval '1 second'` : sql`null`;
  await query(
    orm.em.fork(),
    sql`update channel_grants set failing_since = coalesce(failing_since, ${now()}), refreshing_until = ${until}
      where ${isHeld(turn)}`,
  );
}
