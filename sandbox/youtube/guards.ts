import type { Context } from 'koa';
import type { SandboxDeps } from '../deps.ts';
import { accessIn, accessOf, admit, bearerIn, hasScope } from '../oauth/access.ts';
import { isBy } from '../post.ts';
import { account } from './account.ts';
import { scopes } from './oauth.ts';
import { isVideo, type Video } from './post.ts';
import { insufficientScopes, unauthenticated } from './refusals.ts';

const statics = [{ value: account.accessToken, scopes: null }];

/** What opens a kind of call. */
const openedBy = {
  read: [scopes.read, scopes.manage, scopes.all],
  upload: [scopes.upload, scopes.manage, scopes.all],
  comments: [scopes.all],
} as const;

/** @throws Refusal 401 for a token that is not good, 403 for one that does not open the call. */
export function assertToken(ctx: Context, deps: SandboxDeps, call: keyof typeof openedBy): void {
  const access = accessOf(deps, 'youtube', bearerIn(ctx), statics);
  if (typeof access === 'string') {
    throw unauthenticated();
  }
  admit(ctx, access);
  if (!hasScope(ctx, ...openedBy[call])) {
    throw insufficientScopes();
  }
}

/** A video that look-ups show: another channel's private ones they do not. */
export function findVideo(ctx: Context, { store }: SandboxDeps, id: string): Video | undefined {
  const post = store.find('youtube', id);
  if (!isVideo(post) || store.isHidden(post)) {
    return undefined;
  }
  return isBy(accessIn(ctx).account)(post) || post.privacy !== 'private' ? post : undefined;
}
