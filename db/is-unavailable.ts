import { causesOf } from '../domain/errors.ts';

/**
 * SQLSTATE codes of temporary failures: connection errors, shutdown, startup, too many connections, a statement timeout
 * (57014) or an idle transaction timeout (25P03). A missing table (42P01) means that the schema is being created.
 */
const awayStates = /^(?:08|57P0[1-5]|57014|25P03|53300|42P01)/v;

const awayCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
]);

const awayMessages =
  /connection terminated|timeout exceeded when trying to connect|query read timeout|connection ended|is not queryable/iv;

/** Whether the error means that the database is temporarily unavailable, so that a retry helps. */
export const isDatabaseUnavailable = (error: unknown): boolean =>
  causesOf(error).some(isUnavailable);

function isUnavailable(error: Error): boolean {
  const code = 'code' in error ? String(error.code) : '';
  return awayStates.test(code) || awayCodes.has(code) || awayMessages.test(error.message);
}
