import type { ChaosPlan } from './post-plan.ts';

/** The part of a plan that runs together: see `ChaosPlan`. */
type Phase = Pick<ChaosPlan, 'posts' | 'outages' | 'serverOutages' | 'traps' | 'channels'>;

/**
 * A run and its last phase: restores, and the posts that are made for them. The results of posts that are being sent
 * then are unknown afterwards, so this phase waits for all others, which a busy machine may delay.
 */
export function inPhases(plan: ChaosPlan): { readonly first: Phase; readonly last: Phase } {
  const { posts, outages, windowMs } = plan;
  const isLast = (atMs: number): boolean => atMs > windowMs;
  return {
    first: {
      ...plan,
      posts: posts.filter(({ createMs }) => !isLast(createMs)),
      outages: outages.filter(({ atMs }) => !isLast(atMs)),
    },
    last: {
      posts: posts.filter(({ createMs }) => isLast(createMs)),
      outages: outages.filter(({ atMs }) => isLast(atMs)),
      serverOutages: [],
      traps: [],
      // Their access is already revoked.
      channels: [],
    },
  };
}
