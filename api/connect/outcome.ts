import type { ConnectLink } from '../../db/entities/connect-link.ts';
import type { ApiDeps } from '../deps.ts';
import { moveLink, closedFlow, type Flow } from './links.ts';
import type { Problem } from './problem.ts';

/** The outcome of a step: the link has ended (`connected`, `failed`) or its page continues (`open`). */
export type ConnectOutcome =
  | { readonly kind: 'connected'; readonly token: string; readonly channelId: string }
  | { readonly kind: 'failed' | 'open'; readonly token: string };

/** Ends the link as failed. The grant is not stored. */
export async function failLink(
  deps: Pick<ApiDeps, 'orm' | 'now'>,
  link: ConnectLink,
  { token }: Flow,
  { code, message }: Problem,
): Promise<ConnectOutcome> {
  const at = { link, from: ['redeeming'] } as const;
  await moveLink(deps.orm.em.fork(), at, deps.now(), {
    status: 'failed',
    sealed_flow: null,
    error: message,
    error_code: code,
  });
  return { kind: 'failed', token };
}

/** Returns the link to its first step. */
export async function reopenLink(
  deps: Pick<ApiDeps, 'orm' | 'now'>,
  link: ConnectLink,
  { code, message }: Problem,
): Promise<void> {
  const at = { link, from: ['redeeming'] } as const;
  await moveLink(deps.orm.em.fork(), at, deps.now(), {
    ...closedFlow,
    status: 'open',
    error: message,
    error_code: code,
  });
}
