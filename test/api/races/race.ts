import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';

/** Rounds of each race. */
export const rounds = 100;

let turn: Promise<unknown> = Promise.resolve();

/**
 * Runs the rounds of a race in parallel lanes. The races of a file run one after the other, because other rounds would
 * come between two calls that must meet. Each round has the test's whole time limit, since many rounds are slow on a
 * slow machine.
 *
 * @param prepare Creates the state that the rounds of one lane share, in sequence.
 */
export function inRounds<Shared>(
  t: ExecutionContext,
  prepare: () => Promise<Shared>,
  race: (shared: Shared, round: number) => Promise<void>,
  { lanes = 4 }: { lanes?: number } = {},
): Promise<void> {
  let next = 1;
  const lane = async (): Promise<void> => {
    const shared = await prepare();
    while (next <= rounds) {
      const round = next;
      next += 1;
      t.timeout(170_000);
      await race(shared, round);
    }
  };
  const run = turn.then(() => Promise.all(Array.from({ length: lanes }, lane)));
  turn = run.catch(() => undefined);
  return run.then(() => undefined);
}

export type Winner = 'first' | 'second';

const smallestStepMs = 0.4;

/**
 * Starts two runners so that they meet: the winner of a round starts a little later in the next one. Otherwise the
 * shorter path would always win, and the race would test nothing.
 */
export class CloseFinish {
  /** Delay of the second runner in milliseconds; below 0 the first one waits. */
  #headStartMs = 0;

  /** Grows while one side wins, because the right delay depends on the machine; small when they meet. */
  #stepMs = smallestStepMs;
  #last: Winner = 'first';
  readonly won: Record<Winner, number> = { first: 0, second: 0 };

  /** Runs both. @returns their results. */
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
    this.#stepMs = Math.max(this.#stepMs * (winner === this.#last ? 1.15 : 0.5), smallestStepMs);
    this.#last = winner;
    this.#headStartMs += winner === 'second' ? this.#stepMs : -this.#stepMs;
  }

  /** Otherwise one side always won, and there was no race. */
  mustHaveMet(t: ExecutionContext, first: string, second: string): void {
    t.log(`${first} came first in ${this.won.first} rounds, ${second} in ${this.won.second}`);
    t.true(this.won.first >= 10 && this.won.second >= 10, JSON.stringify(this.won));
  }
}
