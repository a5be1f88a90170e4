import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';

/** How often each race is run. */
export const rounds = 200;

let turn: Promise<unknown> = Promise.resolve();

/**
 * Runs a race in all its rounds, in lanes side by side. The races of a file take turns, as the rounds of another would
 * come between two calls that must meet. Each round has the test's whole time: 200 of them take as long as they take on
 * a slow machine.
 *
 * @param prepare Makes what the rounds of one lane share, which come one after the other.
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
 * Starts two runners so that they meet: whoever won a round starts a little later in the next. Left to itself the
 * shorter way would always win, and a race that one side always wins tests nothing.
 */
export class CloseFinish {
  /** In milliseconds, how much later the second starts; below 0 the first waits. */
  #headStartMs = 0;

  /** Grows while one side wins, as nobody knows how far apart the two are on this machine; small where they meet. */
  #stepMs = smallestStepMs;
  #last: Winner = 'first';
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
    this.#stepMs = Math.max(this.#stepMs * (winner === this.#last ? 1.15 : 0.5), smallestStepMs);
    this.#last = winner;
    this.#headStartMs += winner === 'second' ? this.#stepMs : -this.#stepMs;
  }

  /** Otherwise one side won always, and nothing was raced. */
  mustHaveMet(t: ExecutionContext, first: string, second: string): void {
    t.log(`${first} came first in ${this.won.first} rounds, ${second} in ${this.won.second}`);
    t.true(this.won.first >= 10 && this.won.second >= 10, JSON.stringify(this.won));
  }
}
