import { verdict } from '../verdict.ts';
import { quantile } from '../quantile.ts';
import type { Steps } from './read-steps.ts';

/** From a post's time to the network call, in milliseconds: what 99 of 100 stay below on an idle machine. */
const targetMs = 300;

export type Lateness = {
  /** Of the network call after the post's time, in milliseconds; NaN where none came. */
  readonly late: readonly number[];
  /** The same of what follows a bare timer. */
  readonly bare: readonly number[];
  readonly steps: readonly Steps[];
};

/** Prints the table. @returns whether every post went out, none before its time, and 99 of 100 within the target. */
export function report({ late, bare, steps }: Lateness, say: (line: string) => void): boolean {
  say('\nMilliseconds after the time    earliest    p50    p90    p99   latest');
  say(row('a post, to the network call', late));
  say(
    row(
      '  until its try begins',
      steps.map(({ toTry }) => toTry),
    ),
  );
  say(
    row(
      '  until its intent is written',
      steps.map(({ toIntent }) => toIntent),
    ),
  );
  say(
    row(
      '  until the network has it',
      steps.map(({ toNetwork }) => toNetwork),
    ),
  );
  say(row('a bare timer of Temporal', bare));
  const missing = late.filter(Number.isNaN).length;
  const early = late.filter((ms) => ms < 0).length;
  const p99 = quantile(late, 0.99);
  const checks: [string, boolean][] = [
    [`posts that never went out: ${missing}`, missing === 0],
    [`posts before their time: ${early}`, early === 0],
    [`p99 is ${p99} ms; the target is ${targetMs} ms`, p99 <= targetMs],
  ];
  for (const [what, met] of checks) {
    verdict(say, what, met);
  }

  return checks.every(([, met]) => met);
}

const row = (name: string, sample: readonly number[]): string => {
  const columns = [0, 0.5, 0.9, 0.99, 1].map((share) => String(quantile(sample, share)));
  return [name.padEnd(31), ...columns.map((text, n) => text.padStart(n === 0 ? 7 : 6))].join(' ');
};
