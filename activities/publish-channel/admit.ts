import { lateAfterMs, lateSpacingMs, mostCounted } from '../../domain/late-posts.ts';
import type { ActivityDeps } from '../deps.ts';
import { parkedMessage } from './park.ts';
import { takeTurn } from './take-turn.ts';
import type { PublishTarget } from './target.ts';

/** Why a try does not begin now. It is no failure, and no try: nothing was asked of the network. */
export type Wait = { readonly atMs: number; readonly message: string };

/**
 * Whether a try may begin: not while a rate limit lasts, and a late post only when it is its turn. A try that died in
 * the middle had its turn, and goes on.
 *
 * @returns null when it may. A post on time costs no statement.
 */
export async function admit(deps: ActivityDeps, target: PublishTarget): Promise<Wait | null> {
  const nowMs = deps.now().getTime();
  if (target.park && target.park.untilMs > nowMs) {
    return { atMs: target.park.untilMs, message: parkedMessage(target.park) };
  }

  const isLate = nowMs - target.dueAt.getTime() > lateAfterMs;
  if (!isLate || target.status === 'publishing') {
    return null;
  }

  const turn = await takeTurn(deps, target);
  if (turn.kind === 'go') {
    return null;
  }

  return { atMs: nowMs + turn.waitMs, message: turnMessage(turn.ahead) };
}

function turnMessage(ahead: number): string {
  const distance = `Overdue posts of a channel go out one after the other, ${lateSpacingMs / 1000} s apart`;
  if (ahead === 0) {
    return `${distance}.`;
  }

  const count = ahead < mostCounted ? `${ahead}` : `${mostCounted} or more`;
  return `${distance}, and ${count} of them ${ahead === 1 ? 'goes' : 'go'} before this one.`;
}
