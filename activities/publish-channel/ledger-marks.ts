import { ask } from '../../db/ask.ts';
import type { ActivityDeps } from '../deps.ts';
import type { Entry } from './ledger.ts';
import type { PublishTarget } from './target.ts';

/** Writes down that the network has these posts. */
export async function markSent(
  deps: ActivityDeps,
  { workspaceId }: PublishTarget,
  live: readonly Entry[],
): Promise<void> {
  await ask(deps.orm.em.fork(), markLive, [deps.now(), workspaceId, ...valuesOfLive(live)]);
}

/** Its values: $1 now, $2 the workspace, and those of `valuesOfLive`. */
export const markLive = `update publish_attempts a
  set state = 'sent', remote_id = live.remote_id, url = live.url, updated_at = $1
  from unnest($3::uuid[], $4::text[], $5::text[]) as live (id, remote_id, url)
  where a.id = live.id and a.workspace_id = $2`;

export const valuesOfLive = (live: readonly Entry[]): unknown[] => [
  live.map(({ id }) => id),
  live.map(({ sent }) => sent?.remoteId),
  live.map(({ sent }) => sent?.url),
];

/**
 * Writes down that nothing came of this send, for certain: `ready` may be sent later, `refused` not. Only of this one:
 * while a try hung, another may have sent again, and what became of that is not known here.
 *
 * @param step As it was when it was sent, or looked for.
 * @returns false when another try has changed any of it since.
 */
export async function markNotTaken(
  deps: ActivityDeps,
  target: PublishTarget,
  step: readonly Entry[],
  state: 'ready' | 'refused',
): Promise<boolean> {
  const marked = await ask(
    deps.orm.em.fork(),
    `update publish_attempts a set state = $1, sending_at = null, updated_at = $2
     from unnest($3::uuid[], $4::timestamptz[]) as sent (id, sending_at)
     where a.id = sent.id and a.workspace_id = $5 and a.state <> 'sent'
       and a.sending_at is not distinct from sent.sending_at
     returning a.id`,
    [
      state,
      deps.now(),
      step.map(({ id }) => id),
      step.map(({ sendingAt }) => sendingAt),
      target.workspaceId,
    ],
  );
  return marked.length === step.length;
}

/** Which of these ids of posts on the network another part of ours has claimed. */
export async function claimedElsewhere(
  deps: ActivityDeps,
  target: PublishTarget,
  remoteIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (remoteIds.length === 0) {
    return new Set();
  }

  const rows = await deps.orm.em
    .fork()
    .execute<{ remote_id: string }[]>(
      'select remote_id from publish_attempts where channel_id = ? and workspace_id = ? and remote_id in (?)',
      [target.channelId, target.workspaceId, remoteIds],
    );
  return new Set(rows.map((row) => row.remote_id));
}

/**
 * How many posts with this text other posts of the account may be creating just now, and for how long the youngest of
 * these requests has been under way.
 */
export async function sameTextUnderWay(
  deps: ActivityDeps,
  { workspaceId, channelId, postChannelId }: PublishTarget,
  { text, withinMs }: { readonly text: string; readonly withinMs: number },
): Promise<{ readonly count: number; readonly youngestMs: number }> {
  const [row] = await ask<{ count: number; youngest: number }>(
    deps.orm.em.fork(),
    `select count(*)::int as count, coalesce(min(age), 0)::float8 as youngest from (
       select extract(epoch from clock_timestamp() - a.sending_at) * 1000 as age
       from post_channels pc join publish_attempts a on a.post_channel_id = pc.id and a.workspace_id = pc.workspace_id
       where pc.workspace_id = $1 and pc.channel_id = $2 and pc.id <> $3 and pc.status in ('publishing', 'retrying')
         and a.state = 'sending' and a.text = $4) as other
     where age < $5`,
    [workspaceId, channelId, postChannelId, text, withinMs],
  );
  return { count: row?.count ?? 0, youngestMs: row?.youngest ?? 0 };
}
