import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { causesOf } from '../domain/errors.ts';
import type { Orm } from './orm.ts';
import { query } from './query.ts';

/** PostgreSQL aborted the transaction because of a concurrent one. A retry succeeds. */
export const isConflict = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === '40001' || error.code === '40P01');

/**
 * SQLSTATE codes of temporary failures: connection errors, shutdown, startup, a full disk, too little memory or too many
 * connections (class 53), an I/O error, a standby that only reads (25006), a statement timeout (57014) or an idle
 * transaction timeout (25P03). A missing table (42P01) means that the schema is being created.
 */
const awayStates = /^(?:08|53|57P0[1-5]|57014|58030|25006|25P03|42P01)/v;

const awayCodes =
  /^(?:ECONN(?:REFUSED|RESET)|ETIMEDOUT|EPIPE|ENOTFOUND|E(?:HOST|NET)UNREACH|EAI_AGAIN)$/v;

const awayMessages =
  /connection terminated|timeout exceeded when trying to connect|query read timeout|connection ended|is not queryable/iv;

/** Whether the database is unavailable or refuses this process, so that a retry helps now or once an operator has acted. */
export const isDatabaseUnavailable = (error: unknown): boolean =>
  causesOf(error).some(isUnavailable);

function isUnavailable(error: Error): boolean {
  const code = 'code' in error ? String(error.code) : '';
  return (
    awayStates.test(code) ||
    awayCodes.test(code) ||
    refusals.has(code) ||
    tlsCodes.test(code) ||
    awayMessages.test(error.message)
  );
}

const deadlineMs = 2000;

/** Whether the database responds in time and has the schema. */
export function isDatabaseReachable(orm: Orm): Promise<boolean> {
  // Reads a table, because a database without the schema is not ready.
  const answer = query(orm.em.fork(), sql`select 1 from workspaces limit 1`).then(
    () => true,
    () => false,
  );
  return Promise.race([answer, sleep(deadlineMs, false, { ref: false })]);
}

/** Why the server takes no writes, or null. A set above `work_mem` makes it write a temporary file. */
export function refusalOfWrites(orm: Orm): Promise<string | null> {
  const spill = orm.em.fork().transactional(async (em) => {
    const [row] = await query<{ readOnly: string }>(
      em,
      sql`select set_config('work_mem', '64kB', true), current_setting('transaction_read_only') as "readOnly"`,
    );
    await query(em, sql`select count(*) from generate_series(1, 10000)`);
    return row?.readOnly === 'on' ? 'it is read-only' : null;
  });
  return spill.catch((error: unknown) =>
    causesOf(error).some((cause) => 'code' in cause && cause.code === '53100')
      ? 'its disk is full'
      : null,
  );
}

/** PostgreSQL's codes for an unknown role or database, or a wrong password. */
const refusals: ReadonlySet<string> = new Set(['28000', '28P01', '3D000']);

/** OpenSSL's and Node's codes for a rejected certificate or a failed handshake. */
const tlsCodes = /CERT|SELF_SIGNED|^UNABLE_TO_|^INVALID_CA|^ERR_(?:TLS|SSL|OSSL)_/v;

/** Why a server refuses the connection, if only a change of `DATABASE_URL` or of the server helps; else null. */
export const connectionRefusal = (error: unknown): string | null =>
  causesOf(error)
    .map(refusalBy)
    .find((refusal) => refusal !== null) ?? null;

/** Explains an error at the start of a process. A refusal ends the process; an unavailable server is retried. */
export function explainDatabaseFailure(
  error: unknown,
): { readonly reason: string; readonly finalAfterMs?: number } | undefined {
  const refusal = connectionRefusal(error);
  if (refusal !== null) {
    return { reason: refusal, finalAfterMs: 0 };
  }

  if (!isDatabaseUnavailable(error)) {
    return undefined;
  }

  const reason = causesOf(error)
    .map(messageOf)
    .find((text) => text !== '');
  return {
    reason: `The database cannot be used: ${reason ?? 'no answer'}. Check that it runs and takes writes, and DATABASE_URL.`,
  };
}

/** Message of PostgreSQL or the system, without the statement that MikroORM prepends. */
function messageOf({ message, ...more }: Error & { sqlMessage?: unknown; code?: unknown }): string {
  const { sqlMessage = message, code = '' } = more;
  return (String(sqlMessage) || String(code)).split('\n')[0] ?? '';
}

function refusalBy(error: Error): string | null {
  const { message } = error;
  const code = 'code' in error ? String(error.code) : '';
  if (/server does not support SSL/v.test(message)) {
    return 'DATABASE_URL asks for TLS (sslmode), but the PostgreSQL server does not offer it. Enable TLS on the server, or set sslmode=disable in a network that you trust.';
  }

  if (refusals.has(code)) {
    const hint = message.endsWith('no encryption')
      ? ' The server may require TLS: add sslmode=verify-full and sslrootcert to DATABASE_URL.'
      : '';
    return `DATABASE_URL is refused: ${message}.${hint}`;
  }

  if (code === '42P05' || code === '26000') {
    return `A connection pooler before PostgreSQL does not track prepared statements (${message}): add prepare=no to DATABASE_URL (docs/operate/running.md).`;
  }

  if (code === '42501') {
    return `The role of DATABASE_URL has too few rights: ${messageOf(error)}. Grant the rights of docs/operate/running.md, or make it the owner of the database.`;
  }

  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `The certificate of the PostgreSQL server is for another host than DATABASE_URL names: ${message}.`;
  }

  return tlsCodes.test(code)
    ? `The TLS connection to the PostgreSQL server failed: ${message}. Check sslrootcert, sslcert and sslkey in DATABASE_URL.`
    : null;
}
