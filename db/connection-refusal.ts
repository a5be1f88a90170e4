import { causesOf } from '../domain/errors.ts';
import { isDatabaseAway } from './is-away.ts';

/** PostgreSQL's codes for a role, a password or a database that it does not know. */
const refusals: ReadonlySet<string> = new Set(['28000', '28P01', '3D000']);

/** OpenSSL's and Node's codes for a certificate that is not accepted, and for a handshake that failed. */
const tlsCodes = /CERT|SELF_SIGNED|^UNABLE_TO_|^INVALID_CA|^ERR_TLS_|^ERR_SSL_/v;

/**
 * Why a server refuses to connect, where only a change of `DATABASE_URL` or of the server helps. Waiting does not.
 *
 * @returns null for any other error.
 */
export function connectionRefusal(error: unknown): string | null {
  for (const cause of causesOf(error)) {
    const refusal = refusalBy(cause);
    if (refusal !== null) {
      return refusal;
    }
  }

  return null;
}

/**
 * What is wrong with the database at the start of a process: a refusal ends it, and a server that is away is waited for.
 *
 * @returns undefined for an error of another kind.
 */
export function databaseTrouble(
  error: unknown,
): { readonly reason: string; readonly finalAfterMs?: number } | undefined {
  const refusal = connectionRefusal(error);
  if (refusal !== null) {
    return { reason: refusal, finalAfterMs: 0 };
  }

  if (!isDatabaseAway(error)) {
    return undefined;
  }

  const said = causesOf(error)
    .map(saidBy)
    .find((words) => words !== '');
  return { reason: `The database cannot be reached: ${said ?? 'no answer'}. Check DATABASE_URL.` };
}

/** The words of PostgreSQL or of the system without the statement, which MikroORM puts before them. */
function saidBy(error: {
  readonly message: string;
  readonly sqlMessage?: unknown;
  readonly code?: unknown;
}): string {
  const { message, sqlMessage = message, code = '' } = error;
  return (String(sqlMessage) || String(code)).split('\n')[0] ?? '';
}

function refusalBy({ message, ...rest }: Error & { readonly code?: unknown }): string | null {
  const code = String(rest.code ?? '');
  if (/server does not support SSL/v.test(message)) {
    return 'DATABASE_URL asks for TLS (sslmode), but the PostgreSQL server does not offer it. Enable TLS on the server, or set sslmode=disable in a network that you trust.';
  }

  if (refusals.has(code)) {
    const hint = message.endsWith('no encryption')
      ? ' The server may require TLS: add sslmode=verify-full and sslrootcert to DATABASE_URL.'
      : '';
    return `DATABASE_URL is refused: ${message}.${hint}`;
  }

  if (code === '42501') {
    return `The role of DATABASE_URL has too few rights: ${saidBy({ message, ...rest })}. Make it the owner of the database.`;
  }

  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `The certificate of the PostgreSQL server is for another host than DATABASE_URL names: ${message}.`;
  }

  return tlsCodes.test(code)
    ? `The TLS connection to the PostgreSQL server failed: ${message}. Check sslrootcert, sslcert and sslkey in DATABASE_URL.`
    : null;
}
