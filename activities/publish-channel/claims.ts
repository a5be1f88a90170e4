import { ask } from '../../db/ask.ts';
import type { Em } from '../../db/orm.ts';
import { postAddress } from '../../domain/links.ts';
import type { SentPart } from '../../networks/network.ts';
import type { Entry } from './ledger.ts';
import type { PublishTarget } from './target.ts';

type Claim = {
  /** Whether it is of the parts that are looked for. */
  readonly is_own: boolean;
  readonly remote_id: string | null;
  readonly url: string | null;
};

/**
 * Which of the posts that a look found may be the parts that it was for: none that another part or post of ours has, and
 * first the one of which somebody said that it is this.
 *
 * What a network said is known by its id there. What a person settled is known by its address, in the ledger, or on the
 * channel alone where a restored database had nothing of the send.
 *
 * @param em Its transaction holds `lockClaims`.
 */
export async function unclaimed(
  em: Em,
  target: PublishTarget,
  step: readonly Entry[],
  candidates: readonly (readonly SentPart[])[],
): Promise<readonly (readonly SentPart[])[]> {
  const found = candidates.flat();
  const claims = await ask<Claim>(
    em,
    `select a.id = any($3::uuid[]) as is_own, a.remote_id, a.url from post_parts a
     where a.channel_id = $1 and a.workspace_id = $2
       and (a.remote_id = any($4::text[]) or (a.remote_id is null and a.url = any($5::text[])))
     union all
     select false, null, pc.url from post_channels pc
     where pc.channel_id = $1 and pc.workspace_id = $2 and pc.settled_at is not null
       and pc.url = any($5::text[]) and pc.id <> $6`,
    [
      target.channelId,
      target.workspaceId,
      step.map(({ id }) => id),
      found.map(({ remoteId }) => remoteId),
      found.map(({ url }) => postAddress(url)),
      target.postChannelId,
    ],
  );
  const has = (isOwn: boolean, parts: readonly SentPart[]): boolean =>
    parts.some(({ remoteId, url }) =>
      claims.some(
        (claim) =>
          claim.is_own === isOwn &&
          (claim.remote_id === remoteId || claim.url === postAddress(url)),
      ),
    );
  const free = candidates.filter((parts) => !has(false, parts));
  return [
    ...free.filter((parts) => has(true, parts)),
    ...free.filter((parts) => !has(true, parts)),
  ];
}

/**
 * How many posts with this text other posts of the account may be creating just now, and for how long the youngest of
 * these requests has been under way.
 */
export async function sameTextUnderWay(
  em: Em,
  { workspaceId, channelId, postChannelId }: PublishTarget,
  { text, withinMs }: { readonly text: string; readonly withinMs: number },
): Promise<{ readonly count: number; readonly youngestMs: number }> {
  const [row] = await ask<{ count: number; youngest: number }>(
    em,
    `select count(*)::int as count, coalesce(min(age), 0)::float8 as youngest from (
       select extract(epoch from clock_timestamp() - a.sending_at) * 1000 as age
       from post_channels pc join post_parts a on a.post_channel_id = pc.id and a.workspace_id = pc.workspace_id
       where pc.workspace_id = $1 and pc.channel_id = $2 and pc.id <> $3 and pc.status in ('publishing', 'retrying')
         and a.state = 'sending' and a.text = $4) as other
     where age < $5`,
    [workspaceId, channelId, postChannelId, text, withinMs],
  );
  return { count: row?.count ?? 0, youngestMs: row?.youngest ?? 0 };
}
