import { setImmediate as nextTurn } from 'node:timers/promises';

export type Winner = 'first' | 'second';

/**
 * Starts two runners so that they meet: whoever won a round starts a little later in the next. Left to itself the
 * shorter way would always win, and a race that one side always wins tests nothing.
 */
export class CloseFinish {
  /** In milliseconds, how much later the second starts; below 0 the first waits. */
  #headStartMs = 0;
  readonly won: Record<Winner, number> = { first: 0, second: 0 };

  /** Runs both. @returns what each came to. */
  async run<A, B>(first: () => Promise<A>, second: () => Promise<B>): Promise<[A, B]> {
    const headStartMs = this.#headStartMs + Math.random() - 0.5;
    const after = async <T>(waitMs: number, runner: () => Promise<T>): Promise<T> => {
      const begun = performance.now();
      while (performance.now() - begun < waitMs) {
        await nextTurn();
      }

      return runner();
    };
    return Promise.all([after(-headStartMs, first), after(headStartMs, second)]);
  }

  finished(winner: Winner): void {
    this.won[winner] += 1;
    this.#headStartMs += winner === 'second' ? 0.4 : -0.4;
  }
}
