import { parseInstant } from '../../domain/due-time.ts';
import { UsageError } from './command.ts';

const unitsMs: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/**
 * Parses an operator's time: RFC 3339, or how long ago it was (`90m`, `2h`, `1d`).
 *
 * @throws UsageError
 */
export function readTime(option: string, given: string, now: Date): Date {
  const ago = /^(?<count>\d{1,5})(?<unit>[smhd])$/v.exec(given)?.groups;
  const at = ago
    ? new Date(now.getTime() - Number(ago['count']) * (unitsMs[ago['unit'] ?? ''] ?? 0))
    : parseInstant(given);
  if (!at) {
    throw new UsageError(
      `--${option} must be a time such as 2027-03-01T09:00:00Z, or how long ago it was, such as 90m, 2h or 1d; not "${given}".`,
    );
  }

  return new Date(Math.max(0, at.getTime())); // PostgreSQL has no year 0.
}

/** @throws UsageError */
export function readCount(option: string, given: string | undefined, otherwise: number): number {
  const count = given === undefined ? otherwise : Number(given);
  if (!/^[1-9]\d{0,3}$/v.test(given ?? String(otherwise))) {
    throw new UsageError(`--${option} must be a whole number from 1 to 9999, not "${given}".`);
  }

  return count;
}

/** Makes untrusted text safe for one line of a terminal: no cursor movements and no bidirectional controls. */
export const oneLine = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gv, ' ').trim();

/** Shortens a text. @param length In code points. */
export function beginning(text: string, length = 80): string {
  const letters = [...oneLine(text)];
  return letters.length <= length ? letters.join('') : `${letters.slice(0, length).join('')}…`;
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** Formats the distance from now: `3 h ago`, `in 12 min`. @param ms Milliseconds from now. */
export const distance = (ms: number): string =>
  ms > 0 ? `in ${roughly(ms)}` : `${roughly(ms)} ago`;

/** Formats a duration: `3 h`, `12 min`. @param ms Milliseconds, also negative. */
function roughly(ms: number): string {
  const length = Math.abs(ms);
  const [unit, size] = units.find(([, least]) => length >= least) ?? ['s', 1000];
  return `${Math.floor(length / size)} ${unit}`;
}

export const formatInstant = (at: Date | null): string | null => at?.toISOString() ?? null;
