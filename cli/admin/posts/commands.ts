import { listPosts } from './list-posts.ts';
import { retryOne, settleOne } from './lifecycle.ts';
import { replayPosts } from './replay-posts.ts';
import { retryNow } from './retry-now.ts';
import { showPost } from './show-post.ts';

// docs/operate/operations.md explains these commands.

export const posts = {
  list: listPosts,
  show: showPost,
  retry: retryOne,
  'retry-now': retryNow,
  settle: settleOne,
  replay: replayPosts,
};
