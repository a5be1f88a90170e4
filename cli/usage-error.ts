/** The words of the call do not fit. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
