import { sql } from 'kysely';
import type { Em } from './orm.ts';
import { query } from './query.ts';

/**
 * Until the transaction's end nobody else says, without the network's own word, which of our posts has what is live on
 * this channel: neither a try that finds it nor a person who settles it. Of two that do so at the same moment, the second
 * sees what the first wrote. Taken before rows of the ledger are locked.
 */
export async function lockClaims(em: Em, channelId: string): Promise<void> {
  await query(
    em,
    sql`select pg_advisory_xact_lock(hashtextextended('claims of ' || ${channelId}::text, 0))`,
  );
}
