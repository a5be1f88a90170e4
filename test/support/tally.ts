import { stripVTControlCharacters } from 'node:util';

/** The result of a run of ava, counted from its output. */
export type Tally = {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
};

export type Counter = {
  /** Takes ava's output in chunks. */
  readonly add: (text: string) => void;
  /**
   * The final count. A run with a non-zero exit code has at least one failure, also if ava ended before it printed one,
   * and so has a run without tests. `skipsFail` counts skipped tests as failed.
   */
  readonly result: (exitCode: number, skipsFail: boolean) => Tally;
};

/** ava prints a line per test: two spaces and a mark. Terminals without Unicode get a simpler mark. */
const marks = {
  passed: /^ {2}[✔√] /v,
  failed: /^ {2}[✘✖×] /v,
  skipped: /^ {2}- \[(?:skip|todo)\]/v,
} as const;

export function tallyCounter(): Counter {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  let unfinished = '';
  const count = (line: string) => {
    for (const kind of ['passed', 'failed', 'skipped'] as const) {
      if (marks[kind].test(line)) {
        counts[kind] += 1;
      }
    }
  };
  return {
    add(text) {
      const lines = `${unfinished}${text}`.split('\n');
      unfinished = lines.pop() ?? '';
      // Counts whole lines, because a colour code may arrive in two chunks.
      lines.map((line) => stripVTControlCharacters(line)).forEach(count);
    },
    result(exitCode, skipsFail) {
      const { passed, skipped } = counts;
      const failed = counts.failed + (skipsFail ? skipped : 0);
      const nothingRan = passed + failed + skipped === 0;
      const isUnnamed = failed === 0 && (exitCode !== 0 || nothingRan);
      return { passed, failed: isUnnamed ? 1 : failed, skipped: skipsFail ? 0 : skipped };
    },
  };
}

/** The last line of a run: `12 passed, 0 failed, 1 skipped`. */
export function tallyLine({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
