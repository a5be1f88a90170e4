/** PostgreSQL undid the transaction because of another one; the same again goes through. */
export const isConflict = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === '40001' || error.code === '40P01');
