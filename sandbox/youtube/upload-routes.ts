import type { Router, RouterContext } from '@koa/router';
import type { Context } from 'koa';
import { readRaw } from '../body.ts';
import type { SandboxDeps } from '../deps.ts';
import { originOf } from '../origin.ts';
import { accessIn } from '../oauth/access.ts';
import { isBy } from '../post.ts';
import { cutConnection, Refusal } from '../refusal.ts';
import { admitVideo, createVideo } from './create-video.ts';
import { assertToken, findVideo } from './guards.ts';
import { isYoutubeVideo, type Video } from './post.ts';
import { presentVideo } from './present.ts';
import { badRequest, notFound, refused } from './refusals.ts';
import { partsOf, readVideoRequest, takesOnly } from './requests.ts';
import { createSessions, rangeOf, takeChunk, type Session, type Sessions } from './sessions.ts';

const parts = ['snippet', 'status'];

/** Adds resumable uploads of videos, and thumbnails in one request. */
export function addUploadRoutes(router: Router, deps: SandboxDeps): void {
  const sessions = createSessions(deps.now);
  router.post('/upload/youtube/v3/videos', (ctx) => beginUpload(ctx, deps, sessions));
  router.put('/upload/youtube/v3/videos', (ctx) => goOn(ctx, deps, sessions));
  router.post('/upload/youtube/v3/thumbnails/set', (ctx) => setThumbnail(ctx, deps));
}

async function beginUpload(ctx: RouterContext, deps: SandboxDeps, sessions: Sessions) {
  assertToken(ctx, deps, 'upload');
  const asked = partsOf(ctx, parts, ['uploadType', 'notifySubscribers']);
  if (ctx.URL.searchParams.get('uploadType') !== 'resumable') {
    throw badRequest('badRequest', 'The sandbox takes resumable uploads only.');
  }
  const [size, type] = [ctx.get('x-upload-content-length'), ctx.get('x-upload-content-type')];
  if (!/^\d{1,15}$/v.test(size) || !/^(?:video\/.+|application\/octet-stream)$/v.test(type)) {
    const message = 'X-Upload-Content-Length or X-Upload-Content-Type is missing or wrong.';
    throw badRequest('badRequest', message);
  }
  const request = await readVideoRequest(ctx);
  const by = accessIn(ctx);
  const fate = await admitVideo(deps, request, by);
  const { account } = by;
  const session = sessions.begin({ request, parts: asked, sizeBytes: Number(size), fate, account });
  const query = new URLSearchParams(ctx.querystring);
  query.set('upload_id', session.id);
  ctx.status = 200;
  ctx.set('location', `${originOf(ctx)}${ctx.path}?${query}`);
  ctx.body = '';
}

async function goOn(ctx: RouterContext, deps: SandboxDeps, sessions: Sessions): Promise<void> {
  assertToken(ctx, deps, 'upload');
  takesOnly(ctx, ['uploadType', 'part', 'notifySubscribers', 'upload_id']);
  const session = sessions.find(ctx.URL.searchParams.get('upload_id') ?? '');
  if (session?.account !== accessIn(ctx).account) {
    throw refused(404, 'notFound', 'The upload session was not found or has expired.');
  }
  const range = rangeOf(ctx.get('content-range'), {
    ...session,
    // A completed upload accepts any chunk, and responds with the result.
    received: session.videoId === null ? session.received : firstByteOf(ctx),
  });
  if (range === 'question') {
    answerWithState(ctx, deps, session);
    return;
  }
  if (ctx.request.length !== range.to - range.from) {
    throw badRequest('badRequest', 'Content-Length and Content-Range do not fit.');
  }
  if (session.videoId === null) {
    await takeChunk(ctx.req, session, range.to - range.from);
  }
  if (session.videoId !== null || session.received < session.sizeBytes) {
    answerWithState(ctx, deps, session);
    return;
  }
  await end(ctx, session, await createVideo(deps, session));
}

const firstByteOf = (ctx: Context): number =>
  Number(/^bytes (?<from>\d{1,15})-/v.exec(ctx.get('content-range'))?.groups?.['from'] ?? 0);

function end(ctx: RouterContext, { fate, parts: asked }: Session, video: Video): void {
  const answer = fate.kind === 'take' ? fate.answer : 'normal';
  if (answer === 'none') {
    cutConnection(ctx);
  } else if (answer === 'error') {
    throw refused(500, 'backendError', 'Backend Error');
  } else {
    ctx.body = presentVideo(video, asked);
  }
}

function answerWithState(ctx: RouterContext, { store }: SandboxDeps, session: Session): void {
  const post = session.videoId === null ? undefined : store.find('youtube', session.videoId);
  if (isYoutubeVideo(post) && !store.isHidden(post)) {
    ctx.body = presentVideo(post, session.parts);
    return;
  }
  ctx.status = 308;
  ctx.body = '';
  if (session.received > 0) {
    ctx.set('range', `bytes=0-${session.received - 1}`);
  }
}

const maxThumbnailBytes = 50 * 1024 * 1024;

async function setThumbnail(ctx: RouterContext, deps: SandboxDeps): Promise<void> {
  assertToken(ctx, deps, 'upload');
  takesOnly(ctx, ['videoId', 'uploadType']);
  const video = findVideo(ctx, deps, ctx.URL.searchParams.get('videoId') ?? '');
  if (video === undefined) {
    throw notFound('video');
  }
  if (!isBy(accessIn(ctx).account)(video)) {
    throw refused(403, 'forbidden', 'The thumbnail can not be set for the specified video.');
  }
  const bytes = await readRaw(ctx.req);
  const stored = bytes.length > maxThumbnailBytes ? null : await deps.files.put(bytes);
  if (stored === null || !['image/jpeg', 'image/png'].includes(stored.type)) {
    throw new Refusal(400, 'The provided image content is invalid.', { code: 'invalidImage' });
  }
  const thumbnail = { cid: stored.cid, type: stored.type };
  await deps.store.put([{ ...video, thumbnail } as Video]);
  const url = `${originOf(ctx)}/files/${stored.cid}`;
  ctx.body = {
    kind: 'youtube#thumbnailSetResponse',
    etag: `"${stored.cid}"`,
    items: [{ default: { url } }],
  };
}
