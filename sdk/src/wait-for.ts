import { pause, type CallOptions } from './request.ts';
import type { Post } from './types.ts';

export type WaitOptions = Pick<CallOptions, 'signal'> & {
  /** Is given each state that is read, also the last one. */
  readonly onPost?: (post: Post) => void;
};

/** A longer sleep would miss for too long that the post was given an earlier time. */
const longestSleepMs = 30_000;

/**
 * Reads a post until it has ended.
 *
 * @throws Error if it is a draft.
 */
export async function waitFor(
  read: (options: CallOptions) => Promise<Post>,
  { onPost, ...options }: WaitOptions,
): Promise<Post> {
  for (let sleepMs = 500; ; sleepMs = Math.min(sleepMs * 1.5, 5000)) {
    const post = await read(options);
    onPost?.(post);
    if (post.outcome !== null) {
      return post;
    }

    if (post.status === 'draft') {
      throw new Error(`The post ${post.id} is a draft: give it a time.`);
    }

    const untilDueMs = Date.parse(post.scheduled_at ?? '') - Date.now();
    await pause(Math.min(Math.max(untilDueMs || 0, sleepMs), longestSleepMs), options.signal);
  }
}
