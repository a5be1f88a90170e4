import { parseInstant } from '../domain/due-time.ts';
import { UsageError } from './failures.ts';

const unitsMs: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/**
 * Parses a time in the past: RFC 3339, or how long ago it was (`90m`, `2h`, `1d`).
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
