import { AppError } from './errors.ts';
import { parseInstant } from './parse-instant.ts';

const minute = 60_000;
const pastTolerance = 5 * minute;
const twoYears = 2 * 366 * 24 * 60 * minute;

export type DueTimeRequest = {
  /** RFC 3339 with `Z` or an offset; null or absent saves a draft. */
  readonly scheduled_at?: string | null | undefined;
  /** Wins over `scheduled_at`. 0 means now; fractions are fine. */
  readonly schedule_in_minutes?: number | undefined;
};

/**
 * When a post is due by the server's clock, or null for a draft. A time up to 5 minutes ago means now.
 *
 * @throws AppError `invalid_scheduled_at` for a time that is longer past, over two years ahead, or no time at all.
 */
export function dueTime(request: DueTimeRequest, now: Date): Date | null {
  const { scheduled_at: at, schedule_in_minutes: inMinutes } = request;
  if (inMinutes !== undefined) {
    if (!Number.isFinite(inMinutes) || inMinutes < 0 || inMinutes * minute > twoYears) {
      throw invalid('schedule_in_minutes', 'must be a number from 0 to two years of minutes');
    }

    return new Date(now.getTime() + inMinutes * minute);
  }

  if (at === undefined || at === null) {
    return null;
  }

  const due = parseInstant(at);
  if (!due) {
    throw invalid(
      'scheduled_at',
      'must be an existing time such as 2026-05-01T09:30:00Z or 2026-05-01T11:30:00+02:00',
    );
  }

  const ahead = due.getTime() - now.getTime();

  if (ahead < -pastTolerance) {
    throw invalid('scheduled_at', `is in the past (the server's clock says ${now.toISOString()})`);
  }

  if (ahead > twoYears) {
    throw invalid('scheduled_at', 'is more than two years ahead');
  }

  return ahead < 0 ? now : due;
}

function invalid(field: string, message: string): AppError {
  return new AppError('invalid_scheduled_at', `${field} ${message}.`, {
    details: [{ path: `/${field}`, message }],
  });
}
