import { causesOf } from '../domain/errors.ts';
import { isDatabaseUnavailable } from './is-unavailable.ts';

/** PostgreSQL's codes for an unknown role or database, or a wrong password. */
const refusals: ReadonlySet<string> = new Set(['28000', '28P01', '3D000']);

/** OpenSSL's and Node's codes for a rejected certificate or a failed handshake. */
const tlsCodes = /CERT|SELF_SIGNED|^UNABLE_TO_|^INVALID_CA|^ERR_TLS_|^ERR_SSL_/v;

/**
 * Returns why a server refuses the connection, if only a change of `DATABASE_URL` or of the server helps.
 *
 * @returns null for other errors.
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
 * Explains a database error at the start of a process. A refusal ends the process; an unavailable server is retried.
 *
 * @returns undefined for other errors.
 */
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
    reason: `The database cannot be reached: ${reason ?? 'no answer'}. Check DATABASE_URL.`,
  };
}

/** Message of PostgreSQL or the system, without the statement that MikroORM prepends. */
function messageOf(error: {
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
    return `The role of DATABASE_URL has too few rights: ${messageOf({ message, ...rest })}. Make it the owner of the database.`;
  }

  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `The certificate of the PostgreSQL server is for another host than DATABASE_URL names: ${message}.`;
  }

  return tlsCodes.test(code)
    ? `The TLS connection to the PostgreSQL server failed: ${message}. Check sslrootcert, sslcert and sslkey in DATABASE_URL.`
    : null;
}
