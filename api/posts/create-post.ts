import { newId } from '../../db/new-id.ts';
import { dueTime } from '../../domain/due-time.ts';
import { AppError } from '../../domain/errors.ts';
import type { ApiDeps } from '../deps.ts';
import type { Caller } from '../http/route.ts';
import { contentFaults, mustBePublishable, warningFor } from './check-content.ts';
import { chooseChannels } from './choose-channels.ts';
import { checkTexts } from './content.ts';
import { findReplayed, fingerprint } from './idempotency.ts';
import type { CreatePostBody } from './schemas.ts';
import { storePost } from './store-post.ts';

export type Created = { readonly postId: string; readonly replayed: boolean };

/**
 * Stores a draft or a scheduled post, and arranges for it to be published. Everything is committed before
 * Temporal hears of it: a crash in between leaves a row that the relay picks up.
 *
 * @throws AppError with one of the codes that the route lists; then nothing is stored.
 */
export async function createPost(
  deps: ApiDeps,
  caller: Caller,
  request: CreatePostBody,
  key: string | undefined,
): Promise<Created> {
  const { workspaceId } = caller;
  const em = deps.orm.em.fork();
  const print = fingerprint(request);
  const replayed = key === undefined ? null : await findReplayed(em, workspaceId, key, print);
  if (replayed !== null) {
    return { postId: replayed, replayed: true };
  }

  if (caller.plan === null) {
    throw new AppError('plan_required', 'This workspace has no active plan.');
  }

  refuseMedia(request);
  checkTexts(request);
  const dueAt = dueTime(request, deps.now());
  const channels = await chooseChannels(em, workspaceId, request);
  const faults = contentFaults(deps.networks, channels, request);
  if (dueAt) {
    mustBePublishable(channels, faults);
  }

  const post = { id: newId(), dueAt, warning: warningFor(channels, faults), key, print };
  if (!(await storePost(em, workspaceId, request, channels, post, deps.now()))) {
    // Another request with this key came first, and has committed by now.
    return createPost(deps, caller, request, key);
  }

  if (dueAt) {
    const at = dueAt.toISOString();
    deps.tellTemporal({
      workspaceId,
      postId: post.id,
      status: 'scheduled',
      revision: 1,
      dueAt: at,
    });
  }

  return { postId: post.id, replayed: false };
}

/** Until there is a media library, saying so is better than a post that goes out without its picture. */
function refuseMedia({ media_ids: ids = [], media_urls: urls = [] }: CreatePostBody): void {
  const [field] = [...(ids.length ? ['media_ids'] : []), ...(urls.length ? ['media_urls'] : [])];
  if (field !== undefined) {
    const message = 'names media, and this version publishes text only';
    throw new AppError('invalid_request', `${field} ${message}.`, {
      details: [{ path: `/${field}`, message }],
    });
  }
}
