import { verdict } from '../verdict.ts';

/** The longest that a workspace's single post may be late because of another's many, in milliseconds. */
const targetMs = 5000;

/** A single post that had to pass a crowd. */
export type Passed = {
  /** Infinity when it never went out. */
  readonly lateMs: number;
  /** How many of the crowd were not out yet, at the single post's time and when it went out. */
  readonly waitingAtDue: number;
  readonly waitingWhenOut: number;
};

/** Prints the table. @returns whether all were within the target. */
export function report(
  passed: readonly Passed[],
  posts: number,
  say: (line: string) => void,
): boolean {
  say(`\n  waiting of ${posts} at its time    when it went out    late by`);
  for (const { lateMs, waitingAtDue, waitingWhenOut } of passed) {
    const columns = [String(waitingAtDue).padStart(20), String(waitingWhenOut).padStart(20)];
    say(`${columns.join('')} ${(lateMs / 1000).toFixed(2).padStart(13)} s`);
  }

  const crowded = passed.filter(({ waitingAtDue }) => waitingAtDue > 0);
  const worstMs = Math.max(...passed.map(({ lateMs }) => lateMs));
  const checks: [string, boolean][] = [
    [`single posts with a crowd before them: ${crowded.length}`, crowded.length > 0],
    [
      `posts before their time: ${passed.filter(({ lateMs }) => lateMs < 0).length}`,
      passed.every(({ lateMs }) => lateMs >= 0),
    ],
    [`the latest was late by ${worstMs} ms; the target is ${targetMs} ms`, worstMs <= targetMs],
  ];
  for (const [what, met] of checks) {
    verdict(say, what, met);
  }

  return checks.every(([, met]) => met);
}
