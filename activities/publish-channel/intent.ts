import type { ActivityDeps } from '../deps.ts';

/**
 * A request that creates something is written this soon after its intent or not at all, in milliseconds. With the time
 * that it may then take (30 s) it is over well before `appearsWithinMs` is, when another try may send again.
 */
export const writtenWithinMs = 10_000;

/** How old the intent to send is, for a try that may be stopped at any point, and go on long after others took over. */
export type Intent = {
  /** Before the statement that commits it. */
  readonly begin: () => void;
  readonly isYoung: () => boolean;
};

/**
 * By two clocks: the one stands still while a machine is suspended, the other can be set. What either of them says has
 * passed, has passed.
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
    isYoung: () => {
      const [monotonicMs, wallMs] = read();
      return (
        begun !== null && Math.max(monotonicMs - begun[0], wallMs - begun[1]) <= writtenWithinMs
      );
    },
  };
}
