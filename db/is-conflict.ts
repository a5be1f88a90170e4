/** PostgreSQL aborted the transaction because of a concurrent one. A retry succeeds. */
export const isConflict = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === '40001' || error.code === '40P01');
