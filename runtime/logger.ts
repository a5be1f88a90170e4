import { pino, type Logger } from 'pino';

export type { Logger } from 'pino';

/** The token in a link to a file, or in one that connects an account, is a credential, whatever message quotes the link. */
const withoutLinks = (line: string): string =>
  line.replaceAll(/\/(?<kind>files|connect)\/[0-9A-Za-z]{32}(?![0-9A-Za-z])/gv, '/$<kind>/…');

/**
 * One JSON line per entry on standard output. Log ids, codes and times; never a request's body, a header or
 * a credential. The paths below are a second lock on that door, not the first.
 *
 * Lines are written at once: pino's buffered way tries for ever to get rid of the last ones when the output
 * is not read any more, and a process that was told to stop would not end.
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

/** An error as a log may have it. */
type ErrorDescription = {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
};

/**
 * Describes an error for the log. What a database says may quote the statement's values, which are posts' texts
 * and sealed tokens: of that the first line is kept, and of what it quotes only the names of our own tables.
 */
export function describeError(error: unknown): ErrorDescription {
  if (!(error instanceof Error)) {
    return { name: 'NotAnError', message: typeof error };
  }

  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {};
  if ('sql' in error || 'query' in error || error.name.endsWith('Exception')) {
    return { name: error.name, message: saidByDatabase(error.message, code.code ?? ''), ...code };
  }

  return { name: error.name, message: error.message, ...code, stack: error.stack ?? '' };
}

/** SQLSTATEs whose first line quotes names of tables, columns and constraints: violations, and unknown names. */
const quotesNames = /^(?:23|42(?!601))/v;

/** Connection trouble has Node's codes, and the address in its message. */
const isNodeCode = /^E[A-Z]{3,}/v;

function saidByDatabase(message: string, code: string): string {
  const [firstLine = ''] = message.split('\n');
  const shown = quotesNames.test(code) || isNodeCode.test(code);
  return shown ? firstLine : firstLine.replace(/["'].*$/v, '…');
}
