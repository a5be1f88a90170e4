import type { SandboxPost } from './post.ts';

type Tree = {
  readonly roots: readonly SandboxPost[];
  readonly replies: ReadonlyMap<SandboxPost, readonly SandboxPost[]>;
};

/**
 * Joins posts to threads, the one with the newest post first. In a thread, every post follows the one that it replies
 * to.
 *
 * @param posts In order of arrival.
 */
export function threadsOf(posts: readonly SandboxPost[]): SandboxPost[][] {
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

/** The posts above and below a post in its thread, each from the top down. */
export function threadContextOf(
  posts: readonly SandboxPost[],
  post: SandboxPost,
): { ancestors: SandboxPost[]; descendants: SandboxPost[] } {
  const { replies } = treeOf(posts);
  const parents = new Map(
    [...replies].flatMap(([parent, below]) => below.map((reply) => [reply, parent] as const)),
  );
  const ancestors: SandboxPost[] = [];
  for (let above = parents.get(post); above !== undefined; above = parents.get(above)) {
    ancestors.unshift(above);
  }
  return { ancestors, descendants: withReplies(post, replies).slice(1) };
}

/** A post starts a thread when its parent is not stored. A parent must have come first, so there are no cycles. */
function treeOf(posts: readonly SandboxPost[]): Tree {
  const earlier = new Map<string, SandboxPost>();
  const roots: SandboxPost[] = [];
  const replies = new Map<SandboxPost, SandboxPost[]>();
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

function withReplies(post: SandboxPost, replies: Tree['replies']): SandboxPost[] {
  const thread: SandboxPost[] = [];
  const waiting = [post];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    thread.push(next);
    waiting.push(...(replies.get(next) ?? []).toReversed());
  }
  return thread;
}
