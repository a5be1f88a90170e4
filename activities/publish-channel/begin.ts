import { ask } from '../../db/ask.ts';
import type { ActivityDeps } from '../deps.ts';
import { entriesOf, ledgerRows, type Entry, type LedgerRow } from './ledger.ts';
import type { PublishTarget } from './target.ts';

/** The ledger of a channel that has none is one row without an entry. */
type Row = LedgerRow | { readonly id: null };

/**
 * The moment from which a cancel lets the channel finish. A channel of a post that is not publishing (any more) is not
 * tried: it was cancelled, or it waits for another time. The revision says that this is still so since the texts and
 * files were read, so that nothing older than the newest edit begins to go out.
 *
 * @returns the ledger as it was at that moment, or null when the channel must not be tried. Another try may write to the
 *   ledger at any time, so whoever marks something looks again.
 */
export async function begin(deps: ActivityDeps, target: PublishTarget): Promise<Entry[] | null> {
  const rows = await ask<Row>(
    deps.orm.em.fork(),
    `with begun as (
       update post_channels pc set status = 'publishing', retry_at = null, tried_at = clock_timestamp()
       from posts p
       where pc.id = $1 and pc.workspace_id = $2 and p.id = pc.post_id and p.workspace_id = pc.workspace_id
         and pc.status in ('scheduled', 'publishing', 'retrying') and p.status = 'publishing' and p.revision = $4
       returning pc.id)
     select ledger.* from begun left join (${ledgerRows}) ledger on true order by ledger.part`,
    [target.postChannelId, target.workspaceId, target.run, target.revision],
  );
  const entries = rows.filter((row): row is LedgerRow => row.id !== null);
  return rows.length === 0 ? null : entriesOf(target, entries);
}
