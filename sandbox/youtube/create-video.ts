import { randomBytes } from 'node:crypto';
import type { SandboxDeps } from '../deps.ts';
import type { Signer } from '../orders.ts';
import { Refusal } from '../refusal.ts';
import type { Fate } from '../script.ts';
import type { Video } from './post.ts';
import { badRequest, refusalFor } from './refusals.ts';
import type { VideoRequest } from './requests.ts';
import type { Session } from './sessions.ts';

const maxTitle = 100;
const maxDescriptionBytes = 5000;
const maxTags = 500;
/** Categories that users can assign in the United States; YouTube lists others that they cannot. */
const categories = '1 2 10 15 17 19 20 22 23 24 25 26 27 28 29'.split(' ');

/** Identifies a video for the script: by the client's tag, or by its title. */
const attemptOf = ({ snippet }: VideoRequest) => ({
  network: 'youtube',
  texts: [snippet.title, snippet.description ?? ''],
  key: snippet.tags?.find((tag) => tag.startsWith('punctual-')) ?? snippet.title,
});

/**
 * Checks a video's metadata before its first byte.
 *
 * @returns its fate.
 * @throws Refusal 400, 401 or 429, like YouTube. The page shows videos that were refused for their content.
 */
export async function admitVideo(
  { store, script, now }: SandboxDeps,
  request: VideoRequest,
  by: Signer,
): Promise<Extract<Fate, { kind: 'take' | 'duplicate' }>> {
  try {
    assertFits(request);
    const fate = script.fateOf({ ...attemptOf(request), by });
    if (fate.kind !== 'take' && fate.kind !== 'duplicate') {
      throw refusalFor(fate, 'invalidVideoMetadata', now());
    }
    return fate;
  } catch (error) {
    if (error instanceof Refusal && error.status === 400) {
      const { title, description: text = '' } = request.snippet;
      const createdAt = new Date(now()).toISOString();
      const said = { text, title, createdAt, replyTo: null, account: by.account };
      await store.refuse({ ...said, network: 'youtube', refused: error.message });
    }
    throw error;
  }
}

function assertFits({ snippet }: VideoRequest): void {
  const { title, description = '', tags = [], categoryId } = snippet;
  if (title.trim() === '' || title.length > maxTitle || /[<>]/v.test(title)) {
    throw badRequest(
      'invalidTitle',
      'The request metadata specifies an invalid or empty video title.',
    );
  }
  if (Buffer.byteLength(description) > maxDescriptionBytes || /[<>]/v.test(description)) {
    throw badRequest(
      'invalidDescription',
      'The request metadata specifies an invalid video description.',
    );
  }
  if (categoryId !== undefined && !categories.includes(categoryId)) {
    throw badRequest(
      'invalidCategoryId',
      'The snippet.categoryId property specifies an invalid category ID.',
    );
  }
  const counted = tags.map((tag) => (/\s/v.test(tag) ? `"${tag}"` : tag)).join(',');
  if (counted.length > maxTags || tags.some((tag) => tag.trim() === '' || /[<>]/v.test(tag))) {
    throw badRequest('invalidTags', 'The request metadata specifies invalid video keywords.');
  }
}

/** Creates the video of a complete upload. */
export async function createVideo(
  { store, files, script, now }: SandboxDeps,
  session: Session,
): Promise<Video> {
  const { request, fate, account } = session;
  const { snippet, status = {} } = request;
  const attempt = attemptOf(request);
  const { polls, fails } = script.processingOf(attempt);
  const stored = await files.put(Buffer.concat(session.chunks));
  const isFilm = stored?.type.startsWith('video/') ?? false;
  const endsAs = fails || !isFilm ? 'failed' : 'processed';
  const isDuplicate = fate.kind === 'duplicate';
  const video: Video = {
    network: 'youtube',
    account,
    kind: 'video',
    id: randomBytes(8).toString('base64url'),
    text: snippet.description ?? '',
    createdAt: new Date(now()).toISOString(),
    replyTo: null,
    title: snippet.title,
    tags: snippet.tags ?? [],
    categoryId: snippet.categoryId ?? '22',
    privacy: script.locks(attempt) ? 'private' : (status.privacyStatus ?? 'public'),
    madeForKids: status.selfDeclaredMadeForKids ?? null,
    isSynthetic: status.containsSyntheticMedia ?? false,
    file: stored && isFilm ? { cid: stored.cid, type: stored.type } : null,
    thumbnail: null,
    uploadStatus: isDuplicate ? 'rejected' : polls > 0 ? 'uploaded' : endsAs,
    reason: reasonOf({ isDuplicate, isFilm, fails }),
    pollsLeft: polls,
    endsAs,
  };
  if (fate.kind === 'take' && fate.hiddenUntilMs !== null) {
    store.hide([video], fate.hiddenUntilMs);
  }
  await store.put([video]);
  session.chunks.length = 0;
  session.videoId = video.id;
  return video;
}

function reasonOf(
  of: Readonly<Record<'isDuplicate' | 'isFilm' | 'fails', boolean>>,
): string | null {
  if (of.isDuplicate) {
    return 'duplicate';
  }
  if (of.fails) {
    return 'codec';
  }
  return of.isFilm ? null : 'invalidFile';
}

/** Advances a video's processing after a poll. */
export async function lookedAt({ store }: SandboxDeps, video: Video): Promise<void> {
  if (video.uploadStatus !== 'uploaded') {
    return;
  }
  const pollsLeft = video.pollsLeft - 1;
  const uploadStatus = pollsLeft > 0 ? 'uploaded' : video.endsAs;
  await store.put([{ ...video, pollsLeft, uploadStatus } as Video]);
}
