/** An error as a log may have it. */
export type ErrorDescription = {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
};

/**
 * Describes an error for the log. A database error's message quotes the statement with its values; of those
 * only what the database itself said is kept.
 */
export function describeError(error: unknown): ErrorDescription {
  if (!(error instanceof Error)) {
    return { name: 'NotAnError', message: typeof error };
  }

  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {};
  if ('sql' in error || 'query' in error || error.name.endsWith('Exception')) {
    const said = error.cause instanceof Error ? error.cause.message : afterStatement(error.message);
    return { name: error.name, message: said, ...code };
  }

  return { name: error.name, message: error.message, ...code, stack: error.stack ?? '' };
}

const afterStatement = (message: string): string => message.slice(message.lastIndexOf(' - ') + 1);
