import { ask } from '../../db/ask.ts';
import type { ActivityDeps } from '../deps.ts';
import { entriesOf, ledgerRows, type Entry, type LedgerRow } from './ledger.ts';
import { parkJoins } from './park.ts';
import type { PublishTarget } from './target.ts';

/** The ledger of a channel that has none is one row without an entry. */
type Row = LedgerRow | { readonly id: null };

const started = `status = 'publishing', retry_at = null, tried_at = clock_timestamp()`;
const isOpen = `pc.status in ('scheduled', 'publishing', 'retrying')`;

/**
 * Part of a statement, as `post`: the post while its status is this, locked before its channel. Without the lock, a
 * statement that waits for the channel would go by the channel as it is then and by the post as it was before: by a
 * post that was cancelled, edited and scheduled anew meanwhile.
 */
export const lockPost = (
  status: 'publishing' | 'draft',
  which: string,
): string => `post as materialized (
    select id, coalesce(retried_at, scheduled_at) as due_at, xmin::text as version
    from posts where ${which} and status = '${status}' for share)`;

/** What a post is whose channel is tried: a cancel lets finish what was being sent. */
export const statusOf = ({ isFinishing }: PublishTarget): 'publishing' | 'draft' =>
  isFinishing ? 'draft' : 'publishing';

/**
 * Part of a statement that reads the target as well, behind `takePlace`: begins a try of the channel $1 of the post $3 in
 * workspace $2, unless a rate limit lasts at the instant $4, the post was due before $5, or its server has no place. What
 * it goes by is what the statement reads: if it had to wait for somebody who changed the post, nothing begins (`xmin` is
 * the version of a row). Whoever changes what a channel is to get changes the post too.
 */
export const beginOnTime = `seen as materialized (
    select xmin::text as version from posts where id = $3 and workspace_id = $2),
  ${lockPost('publishing', 'id = $3 and workspace_id = $2')},
  begun as (
    update post_channels pc set ${started}
    from seen, post p, channels c ${parkJoins}
    where pc.id = $1 and pc.workspace_id = $2 and ${isOpen}
      and p.id = pc.post_id and p.version = seen.version and p.due_at >= $5
      and c.id = pc.channel_id and c.workspace_id = $2
      and not coalesce(greatest(c.parked_until, server.parked_until, network.parked_until) > $4, false)
      and exists (select 1 from place)
    returning pc.id)`;

/**
 * The moment from which a cancel lets the channel finish. A channel of a post that is not publishing (any more) is not
 * tried: it was cancelled, or it waits for another time. The revision says that this is still so since the texts and
 * files were read, so that nothing older than the newest edit begins to go out.
 *
 * @returns the ledger as it was at that moment, or null when the channel must not be tried. Another try may write to the
 *   ledger at any time, so whoever marks something looks again.
 */
export async function begin(
  deps: ActivityDeps,
  target: PublishTarget,
): Promise<readonly Entry[] | null> {
  if (target.begun) {
    return target.begun;
  }

  const rows = await ask<Row>(
    deps.orm.em.fork(),
    `with ${lockPost(statusOf(target), 'id = $5 and workspace_id = $2 and revision = $4')},
     begun as (
       update post_channels pc set ${started} from post p
       where pc.id = $1 and pc.workspace_id = $2 and pc.post_id = p.id and ${isOpen}
       returning pc.id)
     select ledger.* from begun left join (${ledgerRows('$3')}) ledger on true order by ledger.part`,
    [target.postChannelId, target.workspaceId, target.run, target.revision, target.postId],
  );
  const entries = rows.filter((row): row is LedgerRow => row.id !== null);
  return rows.length === 0 ? null : entriesOf(target.media, entries);
}
