import { PlainError } from './plain-error.ts';

/** What a person may set for `npm start`. Undefined: `npm start` sees to it. */
export type StartSettings = {
  readonly host: string;
  readonly apiPort: number;
  readonly postgresPort: number | undefined;
  readonly temporalPort: number | undefined;
  readonly temporalUiPort: number | undefined;
  readonly sandboxPort: number | undefined;
  readonly databaseUrl: string | undefined;
  readonly temporalAddress: string | undefined;
  readonly temporalNamespace: string;
  readonly temporalUiUrl: string | undefined;
  readonly secretKey: string | undefined;
  /** Whether the key of this start is to be taken for the right one, whatever the data was sealed under. */
  readonly adoptsSecretKey: boolean;
  readonly allowNetworks: string | undefined;
  /** Whether a person opened any address. */
  readonly opensAddresses: boolean;
  readonly mediaDir: string | undefined;
  readonly publicUrl: string | undefined;
};

type Env = Readonly<Record<string, string | undefined>>;

/** Whether a person opened addresses that are not public, for whichever purpose. */
export const opensAddresses = (env: Env): boolean =>
  [
    'PUNCTUAL_EGRESS_ALLOW_NETWORKS',
    'PUNCTUAL_EGRESS_ALLOW_WEBHOOKS',
    'PUNCTUAL_EGRESS_ALLOW_DOWNLOADS',
  ].some((name) => env[name]?.trim());

const adoptSecretKey = '--adopt-secret-key';

/**
 * @param words Those after `npm start --`.
 * @throws PlainError with a line per port or word that is none. Other settings are judged by those who use them.
 */
export function readStartSettings(env: Env, words: readonly string[] = []): StartSettings {
  const problems = words
    .filter((word) => word !== adoptSecretKey)
    .map((word) => `npm start takes ${adoptSecretKey} and no other word, not "${word}".`);
  const text = (name: string) => env[name]?.trim() || undefined;
  const port = (name: string) => {
    const given = text(name);
    const isPort = given === undefined || (/^\d{1,5}$/v.test(given) && Number(given) <= 65_535);
    if (!isPort || given === '0') {
      problems.push(`${name} must be a port from 1 to 65535, not "${given}".`);
    }
    return given === undefined ? undefined : Number(given);
  };
  const settings = {
    host: text('HOST') ?? '127.0.0.1',
    apiPort: port('PORT') ?? 3000,
    postgresPort: port('PUNCTUAL_POSTGRES_PORT'),
    temporalPort: port('PUNCTUAL_TEMPORAL_PORT'),
    temporalUiPort: port('PUNCTUAL_TEMPORAL_UI_PORT'),
    sandboxPort: port('PUNCTUAL_SANDBOX_PORT'),
    databaseUrl: text('DATABASE_URL'),
    temporalAddress: text('TEMPORAL_ADDRESS'),
    temporalNamespace: text('TEMPORAL_NAMESPACE') ?? 'default',
    temporalUiUrl: text('PUNCTUAL_TEMPORAL_UI_URL'),
    secretKey: text('SECRET_KEY'),
    adoptsSecretKey: words.includes(adoptSecretKey),
    allowNetworks: text('PUNCTUAL_EGRESS_ALLOW_NETWORKS'),
    opensAddresses: opensAddresses(env),
    mediaDir: text('PUNCTUAL_MEDIA_DIR'),
    publicUrl: text('PUNCTUAL_PUBLIC_URL'),
  };
  if (problems.length > 0) {
    throw new PlainError(problems.join('\n'));
  }

  return settings;
}
