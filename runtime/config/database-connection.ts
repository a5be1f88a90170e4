import { readFileSync } from 'node:fs';

/** Connection settings for a `pg` pool: the URL without its `ssl…` parameters, and the TLS options that they mean. */
export type DatabaseConnection = {
  readonly connectionString: string;
  /** Absent when the URL has no TLS parameter: pg then follows `PGSSLMODE`. */
  readonly ssl?: false | Tls;
};

type Tls = {
  /** The host that the certificate must name. pg passes on host names only, not IP addresses. */
  readonly host?: string;
  readonly rejectUnauthorized?: boolean;
  readonly checkServerIdentity?: () => undefined;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
};

/** An invalid or unsupported parameter of `DATABASE_URL`. The message starts with the setting's name. */
export class DatabaseUrlError extends Error {
  override readonly name = 'DatabaseUrlError';
}

const modes = ['disable', 'require', 'no-verify', 'verify-ca', 'verify-full'] as const;
type Mode = (typeof modes)[number];

const names: ReadonlySet<string> = new Set(['sslmode', 'sslrootcert', 'sslcert', 'sslkey']);

/** Reads the TLS parameters as libpq does; pg and MikroORM differ. @throws DatabaseUrlError */
export function databaseConnection(databaseUrl: string): DatabaseConnection {
  const [address = '', ...rest] = databaseUrl.split('?');
  const pairs = rest.join('?').split('&');
  if (!URL.canParse(address) || new URL(address).host.includes(',')) {
    throw new DatabaseUrlError(
      'DATABASE_URL is not a valid address with one host. For several servers, give that of a proxy before them.',
    );
  }

  const isTls = (pair: string) => pair.startsWith('ssl');
  const own = new URLSearchParams(pairs.filter(isTls).join('&'));
  const kept = pairs.filter((pair) => pair !== '' && !isTls(pair)).join('&');
  const connectionString = kept === '' ? address : `${address}?${kept}`;
  for (const name of own.keys()) {
    if (!names.has(name)) {
      throw new DatabaseUrlError(
        `DATABASE_URL has the parameter "${name}", which is not supported. Supported: ${[...names].join(', ')}.`,
      );
    }
  }

  const mode = modeOf(own);
  return {
    connectionString,
    ...(mode === undefined ? {} : { ssl: mode === 'disable' ? false : tlsOf(own, mode, address) }),
  };
}

function modeOf(own: URLSearchParams): Mode | undefined {
  const given = own.get('sslmode');
  if (given === null) {
    return own.size > 0 ? 'verify-full' : undefined;
  }

  const mode = modes.find((each) => each === given);
  if (mode === undefined) {
    const why =
      given === 'prefer' || given === 'allow'
        ? `sslmode=${given} may connect without encryption and is not supported`
        : `"${given}" is not a valid sslmode`;
    throw new DatabaseUrlError(`DATABASE_URL: ${why}. Use one of ${modes.join(', ')}.`);
  }

  return mode;
}

function tlsOf(own: URLSearchParams, mode: Exclude<Mode, 'disable'>, address: string): Tls {
  const root = own.get('sslrootcert');
  if (root === 'system' && mode !== 'verify-full') {
    throw new DatabaseUrlError('DATABASE_URL: sslrootcert=system needs sslmode=verify-full.');
  }

  if (mode === 'verify-ca' && root === null) {
    throw new DatabaseUrlError(
      'DATABASE_URL: sslmode=verify-ca needs sslrootcert, the file of the CA. Use verify-full for a public CA.',
    );
  }

  if (own.has('sslcert') !== own.has('sslkey')) {
    throw new DatabaseUrlError('DATABASE_URL: sslcert and sslkey need each other.');
  }

  const ca = root === 'system' ? undefined : fileOf(own, 'sslrootcert');
  const host = URL.parse(address)?.hostname.replace(/^\[|\]$/gv, '');
  const files = { ca, cert: fileOf(own, 'sslcert'), key: fileOf(own, 'sslkey') };
  return {
    ...(host ? { host } : {}),
    ...checksOf(mode, ca !== undefined),
    ...Object.fromEntries(Object.entries(files).filter(([, text]) => text !== undefined)),
  };
}

/** Like libpq, `require` verifies the certificate when a CA is given, but never the host name. */
function checksOf(mode: Exclude<Mode, 'disable'>, hasCa: boolean): Tls {
  if (mode === 'verify-full') {
    return {};
  }

  return mode === 'no-verify' || !hasCa
    ? { rejectUnauthorized: false }
    : { checkServerIdentity: () => undefined };
}

function fileOf(own: URLSearchParams, name: string): string | undefined {
  const file = own.get(name);
  if (file === null) {
    return undefined;
  }

  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new DatabaseUrlError(`DATABASE_URL: ${name} cannot be read: ${reason}.`, {
      cause: error,
    });
  }
}
