import { setTimeout as sleep } from 'node:timers/promises';

/** How a line or a worker tells a post's user that now is the moment. */
export type Cues = {
  /** @param act What the user does then. */
  on(marker: string, act: () => Promise<void>): void;
  /**
   * Resolves when the user has done it.
   *
   * @returns false when that failed, or took so long that the moment is over.
   */
  give(marker: string): Promise<boolean>;
};

const longestMs = 8000;

export function openCues(): Cues {
  const acts = new Map<string, () => Promise<void>>();
  return {
    on: (marker, act) => {
      acts.set(marker, act);
    },
    give: async (marker) => {
      const done = acts
        .get(marker)?.()
        .then(
          () => true,
          () => false,
        );
      return (done && (await Promise.race([done, sleep(longestMs, false)]))) ?? false;
    },
  };
}
