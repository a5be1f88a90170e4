import { randomBytes } from 'node:crypto';
import { Router, type RouterContext } from '@koa/router';
import type { SandboxDeps } from '../deps.ts';
import { accountNames } from '../account-name.ts';
import { accessIn } from '../oauth/access.ts';
import { isBy } from '../post.ts';
import { cutConnection, Refusal } from '../refusal.ts';
import { accounts } from './account.ts';
import { lookedAt } from './create-video.ts';
import { assertToken, findVideo } from './guards.ts';
import { youtubeOauthRoutes } from './oauth.ts';
import { isComment, isYoutubeVideo, type Comment, type Video } from './post.ts';
import { presentThread, presentUpload, presentVideo } from './present.ts';
import { answerYoutubeErrors, badRequest, notFound, refusalFor, refused } from './refusals.ts';
import { pageOf, partsOf, readCommentRequest, takesOnly } from './requests.ts';
import { addUploadRoutes } from './upload-routes.ts';

const maxComment = 10_000;

/** The parts of the YouTube Data API that publishing a video and reading it back need. */
export function youtubeRoutes(deps: SandboxDeps): Router {
  const router = new Router({ prefix: '/youtube' });
  const api = new Router();
  api.use(answerYoutubeErrors);
  addUploadRoutes(api, deps);
  api.get('/youtube/v3/channels', (ctx) => listChannels(ctx, deps));
  api.get('/youtube/v3/videos', (ctx) => listVideos(ctx, deps));
  api.get('/youtube/v3/playlistItems', (ctx) => listUploads(ctx, deps));
  api.get('/youtube/v3/commentThreads', (ctx) => listComments(ctx, deps));
  api.post('/youtube/v3/commentThreads', (ctx) => createComment(ctx, deps));
  api.delete('/youtube/v3/videos', (ctx) => remove(ctx, deps, 'video'));
  api.delete('/youtube/v3/comments', (ctx) => remove(ctx, deps, 'comment'));
  for (const path of ['/youtube/v3/{*path}', '/upload/{*path}']) {
    api.all(path, () => {
      throw notFound('method');
    });
  }
  router.use(api.routes());
  const all = new Router();
  all.use(youtubeOauthRoutes(deps).routes());
  all.use(router.routes());
  return all;
}

function listChannels(ctx: RouterContext, deps: SandboxDeps): void {
  assertToken(ctx, deps, 'read');
  const asked = partsOf(
    ctx,
    ['id', 'snippet', 'contentDetails', 'statistics'],
    ['mine', 'maxResults'],
  );
  if (ctx.URL.searchParams.get('mine') !== 'true') {
    throw badRequest('missingRequiredParameter', 'No filter selected.');
  }
  const channel = accounts[accessIn(ctx).account];
  const { id, title, handle: customUrl, createdAt: publishedAt, uploads } = channel;
  ctx.body = {
    kind: 'youtube#channelListResponse',
    etag: '"channels"',
    pageInfo: { totalResults: 1, resultsPerPage: 5 },
    items: [
      {
        kind: 'youtube#channel',
        etag: '"channel"',
        id,
        ...(asked.includes('snippet') && {
          snippet: { title, description: '', customUrl, publishedAt },
        }),
        ...(asked.includes('contentDetails') && {
          contentDetails: { relatedPlaylists: { likes: '', uploads } },
        }),
        ...(asked.includes('statistics') && {
          statistics: statisticsOfChannel(deps.figures.followers('youtube')),
        }),
      },
    ],
  };
}

/** @param followers Null when the channel hides them. */
const statisticsOfChannel = (followers: number | null) => ({
  viewCount: '0',
  subscriberCount: String(followers ?? 0),
  hiddenSubscriberCount: followers === null,
  videoCount: '0',
});

async function listVideos(ctx: RouterContext, deps: SandboxDeps): Promise<void> {
  assertToken(ctx, deps, 'read');
  const parts = ['id', 'snippet', 'status', 'statistics', 'processingDetails'];
  const asked = partsOf(ctx, parts, ['id']);
  const ids = (ctx.URL.searchParams.get('id') ?? '').split(',');
  if (ids.length > 50 || ids.includes('')) {
    throw badRequest('invalidParameter', 'The parameter id takes from 1 to 50 ids.');
  }
  const videos = ids.flatMap((id) => findVideo(ctx, deps, id) ?? []);
  ctx.body = {
    kind: 'youtube#videoListResponse',
    etag: '"videos"',
    items: videos.map((video) => presentVideo(video, asked, deps.figures.of(video))),
    pageInfo: { totalResults: videos.length, resultsPerPage: videos.length },
  };
  if (asked.includes('status')) {
    await Promise.all(videos.map((video) => lookedAt(deps, video)));
  }
}

function listUploads(ctx: RouterContext, deps: SandboxDeps): void {
  assertToken(ctx, deps, 'read');
  partsOf(ctx, ['id', 'snippet'], ['playlistId', 'maxResults', 'pageToken']);
  const { store } = deps;
  const playlist = ctx.URL.searchParams.get('playlistId');
  const channel = accountNames.find((name) => accounts[name].uploads === playlist);
  const videos = store
    .all()
    .filter(isYoutubeVideo)
    .filter((video) => !store.isHidden(video));
  const newestFirst = channel === undefined ? [] : videos.filter(isBy(channel)).toReversed();
  // A channel without videos has no uploads playlist.
  if (newestFirst.length === 0) {
    throw notFound('playlist');
  }
  const { items, more } = pageOf(ctx, newestFirst, 50, 5);
  ctx.body = {
    kind: 'youtube#playlistItemListResponse',
    etag: '"uploads"',
    items: items.map((video) => presentUpload(video, newestFirst.indexOf(video))),
    ...more,
  };
}

function listComments(ctx: RouterContext, deps: SandboxDeps): void {
  assertToken(ctx, deps, 'comments');
  const others = ['videoId', 'order', 'maxResults', 'pageToken', 'textFormat'];
  partsOf(ctx, ['id', 'snippet'], others);
  const videoId = ctx.URL.searchParams.get('videoId') ?? '';
  if (findVideo(ctx, deps, videoId) === undefined) {
    throw notFound('video');
  }
  const { store } = deps;
  const comments = store
    .all()
    .filter(isComment)
    .filter((comment) => comment.replyTo === videoId && !store.isHidden(comment));
  const { items, more } = pageOf(ctx, comments.toReversed(), 100, 20);
  ctx.body = {
    kind: 'youtube#commentThreadListResponse',
    etag: '"comments"',
    items: items.map((comment) => presentThread(comment, store.find('youtube', videoId))),
    ...more,
  };
}

async function createComment(ctx: RouterContext, deps: SandboxDeps): Promise<void> {
  assertToken(ctx, deps, 'comments');
  takesOnly(ctx, ['part']);
  partsOf(ctx, ['id', 'snippet']);
  const { videoId, topLevelComment } = (await readCommentRequest(ctx)).snippet;
  const comment: Comment = {
    network: 'youtube',
    account: accessIn(ctx).account,
    kind: 'comment',
    id: `Ug${randomBytes(18).toString('base64url')}`,
    text: topLevelComment.snippet.textOriginal.trim(),
    createdAt: new Date(deps.now()).toISOString(),
    replyTo: videoId,
  };
  const { answer, hiddenUntilMs } = await admitComment(ctx, deps, comment);
  if (hiddenUntilMs !== null) {
    deps.store.hide([comment], hiddenUntilMs);
  }
  await deps.store.put([comment]);
  if (answer === 'none') {
    cutConnection(ctx);
  } else if (answer === 'error') {
    throw refused(500, 'backendError', 'Backend Error');
  } else {
    ctx.body = presentThread(comment, deps.store.find('youtube', videoId));
  }
}

/** Deletes a video with its comments, or a comment. */
async function remove(
  ctx: RouterContext,
  deps: SandboxDeps,
  kind: 'video' | 'comment',
): Promise<void> {
  assertToken(ctx, deps, kind === 'video' ? 'remove' : 'comments');
  takesOnly(ctx, ['id']);
  const { store } = deps;
  const post = store.find('youtube', ctx.URL.searchParams.get('id') ?? '');
  if (post === undefined || !(kind === 'video' ? isYoutubeVideo(post) : isComment(post))) {
    throw notFound(kind);
  }
  if (!isBy(accessIn(ctx).account)(post)) {
    throw refused(403, 'forbidden', `The ${kind} cannot be deleted.`);
  }
  for (const one of store.all().filter(({ replyTo }) => replyTo === post.id)) {
    await store.remove(one);
  }
  await store.remove(post);
  ctx.status = 204;
}

/** @throws Refusal like YouTube. The page shows comments that were refused for their content. */
async function admitComment(ctx: RouterContext, deps: SandboxDeps, comment: Comment) {
  const { store, script, now } = deps;
  const { network, text, createdAt, replyTo, account } = comment;
  try {
    assertFits(findVideo(ctx, deps, replyTo), comment);
    const key = `${replyTo} ${text}`;
    const fate = script.fateOf({ network, texts: [text], key, by: accessIn(ctx) });
    if (fate.kind === 'duplicate') {
      throw badRequest('badContent', 'The same comment is there already.');
    }
    if (fate.kind !== 'take') {
      throw refusalFor(fate, 'invalidCommentThreadMetadata', now());
    }
    return fate;
  } catch (error) {
    if (error instanceof Refusal && (error.status === 400 || error.status === 403)) {
      const refusedFor = error.message;
      await store.refuse({ network, text, createdAt, replyTo, account, refused: refusedFor });
    }
    throw error;
  }
}

function assertFits(video: Video | undefined, { text }: Comment): void {
  if (video === undefined) {
    throw notFound('video');
  }
  if (text === '') {
    throw badRequest('commentTextRequired', 'The comment has no text.');
  }
  if (text.length > maxComment) {
    throw badRequest('commentTextTooLong', 'The comment has too many characters.');
  }
  // YouTube's reason codes for these two are not documented.
  if (video.uploadStatus !== 'processed' || video.privacy === 'private') {
    throw refused(403, 'forbidden', 'The comment thread could not be created.');
  }
  if (video.madeForKids === true) {
    throw refused(403, 'commentsDisabled', 'The video has disabled comments.');
  }
}
