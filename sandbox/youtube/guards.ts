import type { Context } from 'koa';
import type { SandboxDeps } from '../deps.ts';
import { account } from './account.ts';
import { isVideo, type Video } from './post.ts';
import { backendError, unauthenticated } from './refusals.ts';

/** @throws Refusal 401 for another token than the account's, or after it was revoked. */
export function assertToken(ctx: Context, { script }: SandboxDeps): void {
  const token = /^Bearer (?<token>\S+)$/v.exec(ctx.get('authorization'))?.groups?.['token'];
  if (token !== account.accessToken || script.isRevoked('youtube')) {
    throw unauthenticated();
  }
}

/** @throws Refusal 503 while the script lets nobody look. */
export function assertSighted({ script }: SandboxDeps): void {
  if (script.isBlind('youtube')) {
    throw backendError();
  }
}

/** A video that look-ups show. */
export function findVideo({ store }: SandboxDeps, id: string): Video | undefined {
  const post = store.find('youtube', id);
  return isVideo(post) && !store.isHidden(post) ? post : undefined;
}
