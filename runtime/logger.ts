import { pino, type Logger } from 'pino';

export type { Logger } from 'pino';

/**
 * One JSON line per entry on standard output. Log ids, codes and times; never a request's body, a header or
 * a credential. The paths below are a second lock on that door, not the first.
 */
export function createLogger(name: string, level: string): Logger {
  return pino({
    name,
    level,
    redact: ['*.authorization', '*.password', '*.accessToken', '*.appPassword', '*.secret'],
  });
}
