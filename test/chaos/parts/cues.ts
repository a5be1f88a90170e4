import { setTimeout as sleep } from 'node:timers/promises';

/** Signals from a line or a worker to a post's user to act now. */
export type Cues = {
  /** @param act The user's action. */
  on(marker: string, act: () => Promise<void>): void;
  /**
   * Resolves when the user has acted.
   *
   * @returns false when the action failed or took too long.
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
