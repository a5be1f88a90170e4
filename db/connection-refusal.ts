import { causesOf } from '../domain/errors.ts';

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

  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `The certificate of the PostgreSQL server is for another host than DATABASE_URL names: ${message}.`;
  }

  return tlsCodes.test(code)
    ? `The TLS connection to the PostgreSQL server failed: ${message}. Check sslrootcert, sslcert and sslkey in DATABASE_URL.`
    : null;
}
