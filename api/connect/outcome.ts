import type { ConnectLink } from '../../db/entities/connect-link.ts';
import type { ApiDeps } from '../deps.ts';
import { moveLink, nothingOpen, type Flow } from './links.ts';
import type { Problem } from './problem.ts';

/** What a step made of a link: it is over, and has connected a channel or not, or its page goes on. */
export type Outcome =
  | { readonly kind: 'connected'; readonly token: string; readonly channelId: string }
  | { readonly kind: 'failed' | 'open'; readonly token: string };

/** The link has failed for good: what the network handed out is not stored. */
export async function endOf(
  deps: Pick<ApiDeps, 'orm' | 'now'>,
  link: ConnectLink,
  { token }: Flow,
  { code, message }: Problem,
): Promise<Outcome> {
  const at = { link, from: ['redeeming'] } as const;
  await moveLink(deps.orm.em.fork(), at, deps.now(), {
    status: 'failed',
    sealed_flow: null,
    error: message,
    error_code: code,
  });
  return { kind: 'failed', token };
}

/** The link can be tried again, from its beginning. */
export async function reopen(
  deps: Pick<ApiDeps, 'orm' | 'now'>,
  link: ConnectLink,
  { code, message }: Problem,
): Promise<void> {
  const at = { link, from: ['redeeming'] } as const;
  await moveLink(deps.orm.em.fork(), at, deps.now(), {
    ...nothingOpen,
    status: 'open',
    error: message,
    error_code: code,
  });
}
