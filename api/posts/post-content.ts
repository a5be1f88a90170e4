import type { VideoOptions } from '../../domain/post-view.ts';
import type { CreatePostBody, EditPostBody } from './schemas.ts';

/** What a post says, as a request or the database has it. */
export type PostContent = {
  readonly body: string | null;
  readonly thread: readonly string[] | null;
  /** By channel id. */
  readonly overrides: Readonly<Record<string, string>>;
  readonly video: VideoOptions | null;
};

export const contentOf = (request: CreatePostBody): PostContent => ({
  body: request.body ?? null,
  thread: request.thread ?? null,
  overrides: request.channel_bodies ?? {},
  video: request.video ?? null,
});

/** The stored content with the sent fields in the place of its own. Null clears a field. */
export const editedContent = (stored: PostContent, request: EditPostBody): PostContent => ({
  body: request.body ?? stored.body,
  thread: request.thread === undefined ? stored.thread : request.thread,
  overrides:
    request.channel_bodies === undefined ? stored.overrides : (request.channel_bodies ?? {}),
  video: request.video === undefined ? stored.video : request.video,
});

/** How many bytes the texts take, in UTF-8. */
export const bytesOf = (texts: readonly (string | null)[]): number =>
  texts.reduce((sum, text) => sum + (text === null ? 0 : Buffer.byteLength(text)), 0);

/** Of a new post, its channels' own texts among them. */
export const textBytes = ({ body, thread, overrides }: PostContent): number =>
  bytesOf([body, ...(thread ?? []), ...Object.values(overrides)]);
