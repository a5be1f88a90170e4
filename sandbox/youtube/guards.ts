import type { Context } from 'koa';
import type { SandboxDeps } from '../deps.ts';
import { accessIn, checkAccessToken, admit, bearerIn, hasScope } from '../oauth/access.ts';
import { isBy } from '../post.ts';
import { account } from './account.ts';
import { scopes } from './oauth.ts';
import { isYoutubeVideo, type Video } from './post.ts';
import { insufficientScopes, unauthenticated } from './refusals.ts';

const statics = [{ value: account.accessToken, scopes: null }];

/** Scopes that permit each kind of call. */
const openedBy = {
  read: [scopes.read, scopes.manage, scopes.all],
  upload: [scopes.upload, scopes.manage, scopes.all],
  comments: [scopes.all],
  remove: [scopes.manage, scopes.all],
} as const;

/** @throws Refusal 401 for an invalid token, 403 for one without a required scope. */
export function assertToken(ctx: Context, deps: SandboxDeps, call: keyof typeof openedBy): void {
  const access = checkAccessToken(deps, 'youtube', bearerIn(ctx), statics);
  if (typeof access === 'string') {
    throw unauthenticated();
  }
  admit(ctx, access);
  if (!hasScope(ctx, ...openedBy[call])) {
    throw insufficientScopes();
  }
}

/** Finds a visible video; private ones only on the account's own channel. */
export function findVideo(ctx: Context, { store }: SandboxDeps, id: string): Video | undefined {
  const post = store.find('youtube', id);
  if (!isYoutubeVideo(post) || store.isHidden(post)) {
    return undefined;
  }
  return isBy(accessIn(ctx).account)(post) || post.privacy !== 'private' ? post : undefined;
}
