import { pino, type Logger } from 'pino';
import { AppError } from '../domain/errors.ts';

export type { Logger } from 'pino';

/** Removes the tokens from links to files and connect links: they are credentials, whatever message quotes the link. */
const withoutLinks = (line: string): string =>
  line.replaceAll(/\/(?<kind>files|connect)\/[0-9A-Za-z]{32}(?![0-9A-Za-z])/gv, '/$<kind>/…');

/**
 * Logs one JSON line per entry to stdout. Callers log ids, codes and times; never a request's body, a header or a
 * credential. The redaction below is a second safeguard.
 *
 * Writes synchronously: pino's buffered mode retries the last lines forever when nothing reads the output, and a
 * stopping process would not exit.
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

/** An error without secrets, for the log. */
type ErrorDescription = {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
};

/**
 * Describes an error for the log. A database error may quote the statement's values, such as posts' texts and sealed
 * tokens: only its first line is kept, and of the quotes in it only names of our own tables. The caller of the API gets
 * the sentence of an AppError; what the disk or the storage said tells the operator more.
 */
export function describeError(given: unknown): ErrorDescription {
  const error = given instanceof AppError ? (given.cause ?? given) : given;
  if (!(error instanceof Error)) {
    return { name: 'NotAnError', message: typeof error };
  }

  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {};
  if ('sql' in error || 'query' in error || error.name.endsWith('Exception')) {
    return { name: error.name, message: databaseMessage(error.message, code.code ?? ''), ...code };
  }

  // From Temporal's client. It names only the call; why it failed is in the cause.
  const { name, message, stack = '', cause } = error;
  const said = name === 'ServiceError' && cause instanceof Error ? ` (${cause.message})` : '';
  return { name, message: message + said, ...code, stack };
}

/** SQLSTATEs whose first line quotes only names of tables, columns and constraints: violations and unknown names. */
const quotesNames = /^(?:23|42(?!601))/v;

/** Connection errors have Node's codes, and the address in their message. */
const isNodeCode = /^E[A-Z]{3,}/v;

function databaseMessage(message: string, code: string): string {
  const [firstLine = ''] = message.split('\n');
  const shown = quotesNames.test(code) || isNodeCode.test(code);
  return shown ? firstLine : firstLine.replace(/["'].*$/sv, '…');
}

/** The least time between two lines of one kind, in milliseconds. */
const countMs = 5000;

/** An outage fails every call for the same reason, so its errors are logged with their count since the last line. */
export function countedErrors(
  log: Logger,
  message: string,
): (fields: object, error: ErrorDescription) => void {
  let [count, isCounting, last] = [0, false, {}];
  const tell = (): void => {
    isCounting = count > 0;
    if (isCounting) {
      log.error({ count, ...last }, message);
      count = 0;
      setTimeout(tell, countMs).unref();
    }
  };
  return (fields, { stack: _, ...error }) => {
    last = { ...fields, error };
    count += 1;
    if (!isCounting) {
      tell();
    }
  };
}
