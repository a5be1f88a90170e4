import { withoutTemporal } from '../parts/temporal.ts';
import { choosePorts } from '../ports.ts';
import { runCommand } from '../run-command.ts';
import { PlainError } from '../terminal.ts';
import type { DataFolder } from './data-folder.ts';

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
  /** A sentence for each port that is none. Other settings are judged by those who use them (`checkSettings`). */
  readonly problems: readonly string[];
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
 * @throws PlainError with a line per word that is none.
 */
export function readStartSettings(env: Env, words: readonly string[] = []): StartSettings {
  const unknown = words.filter((word) => word !== adoptSecretKey);
  if (unknown.length > 0) {
    const refuse = (word: string) =>
      `npm start takes ${adoptSecretKey} and no other word, not "${word}".`;
    throw new PlainError(unknown.map(refuse).join('\n'));
  }

  const problems: string[] = [];
  const text = (name: string) => env[name]?.trim() || undefined;
  const port = (name: string) => {
    const given = text(name);
    const isPort = given === undefined || (/^\d{1,5}$/v.test(given) && Number(given) <= 65_535);
    // The API names a PORT that is none, but may listen on 0.
    if (given === '0' || (!isPort && name !== 'PORT')) {
      problems.push(`${name} must be a port from 1 to 65535, not "${given}".`);
    }
    return given === undefined ? undefined : Number(given);
  };
  return {
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
    problems,
  };
}

/**
 * Has all settings judged as API and worker will judge them, while nothing runs yet.
 *
 * @throws PlainError with a line per setting that is wrong
 */
export async function checkSettings(
  root: string,
  settings: StartSettings,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<void> {
  const seenTo = {
    // Of the right form: `npm start` brings its own.
    DATABASE_URL: settings.databaseUrl ?? 'postgresql://127.0.0.1/punctual',
    SECRET_KEY: settings.secretKey ?? '0123456789abcdef'.repeat(4),
    ...(settings.opensAddresses ? {} : { PUNCTUAL_EGRESS_ALLOW_IN_PRODUCTION: 'yes' }),
  };
  const result = await runCommand(process.execPath, ['cli/check-settings.ts'], {
    cwd: root,
    env: { ...(settings.temporalAddress ? env : withoutTemporal(env)), ...seenTo },
    signal,
  });
  signal.throwIfAborted();
  if (!result.ok || settings.problems.length > 0) {
    const title = result.ok ? 'Correct these settings (docs/settings.md):' : result.stderr.trim();
    throw new PlainError([title, ...settings.problems].join('\n- '));
  }
}

const names = ['api', 'postgres', 'temporal', 'temporalHttp', 'temporalUi', 'sandbox'] as const;

export type StartPorts = Readonly<Record<(typeof names)[number], number>>;

/**
 * Ports for all parts: what a person has set, else those of the last start as long as they are free.
 *
 * @throws PlainError naming a port that is taken and the setting that changes it
 */
export async function chooseStartPorts(
  settings: StartSettings,
  data: DataFolder,
): Promise<StartPorts> {
  const before = await data.readPorts();
  const wish = (what: string, variable: string, fixed: number | undefined, kept?: number) => ({
    what,
    variable,
    ...(fixed === undefined ? {} : { fixed }),
    ...(kept === undefined ? {} : { preferred: kept }),
  });
  const { host, apiPort, postgresPort, temporalPort, temporalUiPort, sandboxPort } = settings;
  // A person's own choices come first, so that no other part takes them.
  const ports = await choosePorts({
    api: { ...wish('the API', 'PORT', apiPort), host },
    postgres: wish('PostgreSQL', 'PUNCTUAL_POSTGRES_PORT', postgresPort, before['postgres']),
    temporal: wish('Temporal', 'PUNCTUAL_TEMPORAL_PORT', temporalPort, before['temporal']),
    temporalUi: wish(
      "Temporal's Web UI",
      'PUNCTUAL_TEMPORAL_UI_PORT',
      temporalUiPort,
      before['temporalUi'],
    ),
    sandbox: wish('the sandbox', 'PUNCTUAL_SANDBOX_PORT', sandboxPort, before['sandbox']),
    temporalHttp: { what: "Temporal's HTTP API", variable: 'nothing' },
  });
  await data.writePorts(ports);
  return ports;
}

/** What `npm start` starts, and with what. */
export type StartPlan = {
  readonly root: string;
  readonly settings: StartSettings;
  readonly ports: StartPorts;
  readonly data: DataFolder;
  readonly env: NodeJS.ProcessEnv;
};

/** In which order the parts of `npm start` end. Those that work come first, what they rest on last. */
export const ranks = { work: 0, sandbox: 1, temporal: 2, postgres: 3 } as const;
