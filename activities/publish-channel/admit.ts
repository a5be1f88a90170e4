import { lateAfterMs, lateSpacingMs, mostCounted } from '../../domain/pacing.ts';
import { serverWaitMs } from '../../domain/server-health.ts';
import type { ActivityDeps } from '../deps.ts';
import { parkedMessage } from './park.ts';
import { takeTurn } from './take-turn.ts';
import type { PublishTarget } from './target.ts';

/** Why a try does not begin now. It is no failure, and no try: nothing was asked of the network. */
export type Wait = {
  readonly atMs: number;
  readonly code: 'rate_limited' | 'network_unavailable';
  readonly message: string;
};

/**
 * Whether a try may begin: not while a rate limit lasts, nor without a place at its server, and a late post only when it
 * is its turn. A try that died in the middle had its turn, and goes on.
 *
 * @returns null when it may. A post on time costs no statement.
 */
export async function admit(deps: ActivityDeps, target: PublishTarget): Promise<Wait | null> {
  const nowMs = deps.now().getTime();
  if (target.park && target.park.untilMs > nowMs) {
    const message = parkedMessage(target.park);
    return { atMs: target.park.untilMs, code: 'rate_limited', message };
  }

  const lateMs = nowMs - target.dueAt.getTime();
  if (target.server.place === null) {
    return waitForServer(target, lateMs, nowMs);
  }

  const isLate = lateMs > lateAfterMs;
  if (!isLate || target.status === 'publishing') {
    return null;
  }

  const turn = await takeTurn(deps, target);
  if (turn.kind === 'go') {
    return null;
  }

  return { atMs: nowMs + turn.waitMs, code: 'rate_limited', message: turnMessage(turn.ahead) };
}

function waitForServer({ server, baseUrl }: PublishTarget, lateMs: number, nowMs: number): Wait {
  const atMs = nowMs + serverWaitMs(server, lateMs, Math.random());
  if (server.isPaused) {
    const message = `Nothing was sent: ${baseUrl} did not answer the last ${server.failures} tries of this service, so that for now only one post at a time asks whether it does again. This counts as no try.`;
    return { atMs, code: 'network_unavailable', message };
  }

  const message = `Nothing was sent: as many posts are on their way to ${baseUrl} as this service sends there at a time. This counts as no try.`;
  return { atMs, code: 'rate_limited', message };
}

function turnMessage(ahead: number): string {
  const distance = `Overdue posts of a channel go out one after the other, ${lateSpacingMs / 1000} s apart`;
  if (ahead === 0) {
    return `${distance}.`;
  }

  const count = ahead < mostCounted ? `${ahead}` : `${mostCounted} or more`;
  return `${distance}, and ${count} of them ${ahead === 1 ? 'goes' : 'go'} before this one.`;
}
