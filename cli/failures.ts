import { ConnectionError, PunctualError } from '../sdk/src/index.ts';

/** A failure that the command explains. */
export class CommandError extends Error {
  override readonly name: string = 'CommandError';
  readonly exitCode: number = 1;
  readonly code: string;

  constructor(message: string, code = 'failed') {
    super(message);
    this.code = code;
  }
}

/** Wrong arguments. */
export class UsageError extends CommandError {
  override readonly name = 'UsageError';
  override readonly exitCode = 2;

  constructor(message: string) {
    super(message, 'usage');
  }
}

/** There is no API key to call with. */
export class NoKeyError extends CommandError {
  override readonly name = 'NoKeyError';
  override readonly exitCode = 4;

  constructor(message: string) {
    super(message, 'no_key');
  }
}

/** 4 also for a key that the API refuses. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandError) {
    return error.exitCode;
  }

  return error instanceof PunctualError && [401, 403].includes(error.status) ? 4 : 1;
}

/** The text of an error for standard error. @param asJson For programs, in the form of the API's errors. */
export function describe(error: unknown, asJson: boolean): string {
  if (asJson) {
    return JSON.stringify(asData(error));
  }

  if (error instanceof PunctualError) {
    const others = error.details.filter(({ message }) => !error.message.includes(message));
    const details = others.map(({ path, message }) => `  ${path}: ${message}`);
    const about = [
      error.code,
      // The key may be for another service.
      error.status === 401 && error.url && `at ${new URL(error.url).origin}`,
      error.requestId && `request ${error.requestId}`,
    ].filter(Boolean);
    return [`${error.message} (${about.join(', ')})`, ...details].join('\n');
  }

  // Anything else is a fault of the command, so the stack helps.
  const isExplained = error instanceof CommandError || error instanceof ConnectionError;
  return error instanceof Error && !isExplained ? String(error.stack) : asData(error).error;
}

function asData(error: unknown) {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof PunctualError) {
    const { code, details, requestId } = error;
    return { error: message, code, details, request_id: requestId };
  }

  if (error instanceof ConnectionError) {
    const doubt = ' It may have had its effect: look before you repeat it.';
    const text = `${message}${reasonOf(error)}${error.mayHaveHappened ? doubt : ''}`;
    return { error: text, code: 'no_answer', details: [] };
  }

  const code = error instanceof CommandError ? error.code : 'failed';
  return { error: message, code, details: [] };
}

/** Such as ` (connect ECONNREFUSED 127.0.0.1:3000)`. */
function reasonOf({ cause }: Error): string {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  return inner instanceof Error && 'code' in inner
    ? ` (${inner.message || String(inner.code)})`
    : '';
}
