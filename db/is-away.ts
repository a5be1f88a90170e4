import { causesOf } from '../domain/errors.ts';

/**
 * PostgreSQL's own words for "not now": connection trouble, shutting down, starting up, out of connections, and
 * a statement that took too long (57014) or a transaction that was idle for too long (25P03). A table that is missing
 * (42P01) is so because the schema is being made at this moment.
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

/** Whether an error means that the database cannot be reached at the moment, so that trying later helps. */
export const isDatabaseAway = (error: unknown): boolean => causesOf(error).some(saysAway);

function saysAway(error: Error): boolean {
  const code = 'code' in error ? String(error.code) : '';
  return awayStates.test(code) || awayCodes.has(code) || awayMessages.test(error.message);
}
