import { ConnectionError, PunctualError } from '../sdk/src/index.ts';

/** Wrong arguments: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** There is no API key to call with: exit code 4. */
export class NoKeyError extends Error {
  override readonly name = 'NoKeyError';
}

/** A failure that the command explains: exit code 1. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly code: string;

  constructor(message: string, code = 'failed') {
    super(message);
    this.code = code;
  }
}

/** 1: it failed, 2: wrong arguments, 4: no key, or one that the API refuses. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) {
    return 2;
  }

  const isRefused = error instanceof PunctualError && [401, 403].includes(error.status);
  return isRefused || error instanceof NoKeyError ? 4 : 1;
}

/** The text of an error for standard error. @param asJson For programs, in the form of the API's errors. */
export function describe(error: unknown, asJson: boolean): string {
  if (asJson) {
    return JSON.stringify(asData(error));
  }

  if (error instanceof PunctualError) {
    const details = error.details.map(({ path, message }) => `  ${path}: ${message}`);
    const about = [
      error.code,
      // The key may be for another service.
      error.status === 401 && error.url && `at ${new URL(error.url).origin}`,
      error.requestId && `request ${error.requestId}`,
    ].filter(Boolean);
    return [`${error.message} (${about.join(', ')})`, ...details].join('\n');
  }

  if (error instanceof ConnectionError) {
    return noAnswerText(error);
  }

  // Anything else is a fault of the command, of which the stack helps.
  return error instanceof Error
    ? isExplained(error)
      ? error.message
      : String(error.stack)
    : String(error);
}

function asData(error: unknown): object {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof PunctualError) {
    const { code, details, requestId } = error;
    return { error: message, code, details, request_id: requestId };
  }

  if (error instanceof ConnectionError) {
    return { error: noAnswerText(error), code: 'no_answer', details: [] };
  }

  const code = error instanceof CommandError ? error.code : codes.get(nameOf(error));
  return { error: message, code: code ?? 'failed', details: [] };
}

function noAnswerText(error: ConnectionError): string {
  const doubt = error.mayHaveHappened
    ? ' It may have had its effect: look before you repeat it.'
    : '';
  return `${error.message}${reasonOf(error)}${doubt}`;
}

const codes = new Map([
  ['UsageError', 'usage'],
  ['NoKeyError', 'no_key'],
]);

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : '');

const isExplained = (error: Error): boolean =>
  error instanceof UsageError || error instanceof NoKeyError || error instanceof CommandError;

/** Such as ` (connect ECONNREFUSED 127.0.0.1:3000)`. */
function reasonOf({ cause }: Error): string {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  return inner instanceof Error && 'code' in inner
    ? ` (${inner.message || String(inner.code)})`
    : '';
}
