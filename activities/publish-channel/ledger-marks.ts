import { ask } from '../../db/ask.ts';
import type { Em } from '../../db/orm.ts';
import { postAddress } from '../../domain/links.ts';
import type { ActivityDeps } from '../deps.ts';
import type { Entry } from './ledger.ts';
import type { PublishTarget } from './target.ts';

/** Writes down that the network has these posts. */
export async function markSent(
  deps: ActivityDeps,
  { workspaceId }: PublishTarget,
  live: readonly Entry[],
  em: Em = deps.orm.em.fork(),
): Promise<void> {
  await ask(em, markLive, [deps.now(), workspaceId, ...valuesOfLive(live)]);
}

/** Its values: $1 now, $2 the workspace, and those of `valuesOfLive`. */
export const markLive = `update post_parts a
  set state = 'sent', remote_id = live.remote_id, url = live.url, updated_at = $1
  from unnest($3::uuid[], $4::text[], $5::text[]) as live (id, remote_id, url)
  where a.id = live.id and a.workspace_id = $2`;

export const valuesOfLive = (live: readonly Entry[]): unknown[] => [
  live.map(({ id }) => id),
  live.map(({ sent }) => sent?.remoteId),
  live.map(({ sent }) => sent && postAddress(sent.url)),
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
    `update post_parts a set state = $1, sending_at = null, updated_at = $2
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
