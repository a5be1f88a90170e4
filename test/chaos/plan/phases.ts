import type { ChaosPlan } from './post-plan.ts';

/** What is lived together: see `ChaosPlan`. */
type Phase = Pick<ChaosPlan, 'posts' | 'outages' | 'serverOutages' | 'traps' | 'channels'>;

/**
 * A run, and what comes of it last: restores, and the posts that are made for them. Whatever is on its way then nothing
 * can tell afterwards, so that they wait for all else, which a busy machine may have held up.
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
      // Those that lose their access have lost it.
      channels: [],
    },
  };
}
