import { pino, type Logger } from 'pino';

export type { Logger } from 'pino';

/** The token in a file's link (`domain/post-view.ts`) is a credential, whatever message quotes the link. */
const withoutLinks = (line: string): string =>
  line.replaceAll(/\/files\/[0-9A-Za-z]{32}(?![0-9A-Za-z])/gv, '/files/…');

/**
 * One JSON line per entry on standard output. Log ids, codes and times; never a request's body, a header or
 * a credential. The paths below are a second lock on that door, not the first.
 *
 * Lines are written at once: pino's buffered way tries for ever to get rid of the last ones when nobody reads
 * the output any more, and a process that was told to stop would not end.
 */
export function createLogger(name: string, level: string): Logger {
  const options = {
    name,
    level,
    redact: ['*.authorization', '*.password', '*.accessToken', '*.appPassword', '*.secret'],
    hooks: { streamWrite: withoutLinks },
  };
  return pino(options, pino.destination({ sync: true }));
}
