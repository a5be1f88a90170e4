import type { Post } from './post.ts';

type Tree = {
  readonly roots: readonly Post[];
  readonly replies: ReadonlyMap<Post, readonly Post[]>;
};

/**
 * Joins posts to threads, the one with the newest post first. Within a thread every post stands behind the one
 * that it answers.
 *
 * @param posts In the order in which they came.
 */
export function threadsOf(posts: readonly Post[]): Post[][] {
  const { roots, replies } = treeOf(posts);
  const places = new Map(posts.map((post, place) => [post, place]));
  return roots
    .map((root) => {
      const thread = withReplies(root, replies);
      return { thread, newest: Math.max(...thread.map((post) => places.get(post) ?? 0)) };
    })
    .toSorted((a, b) => b.newest - a.newest)
    .map(({ thread }) => thread);
}

/** What stands above a post and below it in its thread, each from the top down. */
export function contextOf(
  posts: readonly Post[],
  post: Post,
): { ancestors: Post[]; descendants: Post[] } {
  const { replies } = treeOf(posts);
  const parents = new Map(
    [...replies].flatMap(([parent, below]) => below.map((reply) => [reply, parent] as const)),
  );
  const ancestors: Post[] = [];
  for (let above = parents.get(post); above !== undefined; above = parents.get(above)) {
    ancestors.unshift(above);
  }
  return { ancestors, descendants: withReplies(post, replies).slice(1) };
}

/** A post whose parent is not kept begins a thread. A parent must have come first, so there is no circle. */
function treeOf(posts: readonly Post[]): Tree {
  const earlier = new Map<string, Post>();
  const roots: Post[] = [];
  const replies = new Map<Post, Post[]>();
  for (const post of posts) {
    const parent =
      post.replyTo === null ? undefined : earlier.get(`${post.network}/${post.replyTo}`);
    if (parent === undefined) {
      roots.push(post);
    } else {
      replies.set(parent, [...(replies.get(parent) ?? []), post]);
    }
    earlier.set(`${post.network}/${post.id}`, post);
  }
  return { roots, replies };
}

function withReplies(post: Post, replies: Tree['replies']): Post[] {
  const thread: Post[] = [];
  const waiting = [post];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    thread.push(next);
    waiting.push(...(replies.get(next) ?? []).toReversed());
  }
  return thread;
}
