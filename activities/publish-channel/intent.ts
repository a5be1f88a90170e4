import type { ActivityDeps } from '../deps.ts';

/**
 * In milliseconds. A request that creates a post is written within this time after its intent, or not at all. With its
 * timeout of 30 s it ends well before `appearsWithinMs`, after which another attempt may send again.
 */
export const writtenWithinMs = 10_000;

/** Age of the intent to send. A suspended attempt can resume long after another took over. */
export type Intent = {
  /** Call before the statement that commits the intent. */
  readonly begin: () => void;
  readonly isFresh: () => boolean;
};

/**
 * Uses the larger elapsed time of two clocks: the monotonic one stops while a machine is suspended, the wall clock can
 * be set.
 */
export function createIntent(
  { now }: Pick<ActivityDeps, 'now'>,
  monotonicNowMs: () => number = () => performance.now(),
): Intent {
  const read = () => [monotonicNowMs(), now().getTime()] as const;
  let begun: ReturnType<typeof read> | null = null;
  return {
    begin: () => {
      begun = read();
    },
    isFresh: () => {
      const [monotonicMs, wallMs] = read();
      return (
        begun !== null && Math.max(monotonicMs - begun[0], wallMs - begun[1]) <= writtenWithinMs
      );
    },
  };
}
