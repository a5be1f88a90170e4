import { choosePorts } from '../ports.ts';
import { runCommand } from '../run-command.ts';
import { PlainError } from '../terminal.ts';
import type { DataFolder } from './data-folder.ts';

/** The user's settings for `npm start`. When undefined, `npm start` provides the value. */
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
  /** Whether to accept the key or the media storage of this start, whatever the data has. */
  readonly adoptsSecretKey: boolean;
  readonly adoptsStorage: boolean;
  readonly allowNetworks: string | undefined;
  /** Whether the user opened any address. */
  readonly opensAddresses: boolean;
  readonly mediaDir: string | undefined;
  readonly publicUrl: string | undefined;
  /** A sentence for each invalid port. `checkSettings` checks the other settings. */
  readonly problems: readonly string[];
};

type Env = Readonly<Record<string, string | undefined>>;

/** Whether the user opened non-public addresses for any purpose. */
export const opensAddresses = (env: Env): boolean =>
  [
    'PUNCTUAL_EGRESS_ALLOW_NETWORKS',
    'PUNCTUAL_EGRESS_ALLOW_WEBHOOKS',
    'PUNCTUAL_EGRESS_ALLOW_DOWNLOADS',
  ].some((name) => env[name]?.trim());

const flags = ['--adopt-secret-key', '--adopt-storage'];

/**
 * @param args The arguments after `npm start --`.
 * @throws PlainError with a line per unknown argument.
 */
export function readStartSettings(env: Env, args: readonly string[] = []): StartSettings {
  const unknown = args.filter((arg) => !flags.includes(arg));
  if (unknown.length > 0) {
    const refuse = (arg: string) =>
      `Unknown argument "${arg}". npm start accepts only ${flags.join(' and ')}.`;
    throw new PlainError(unknown.map(refuse).join('\n'));
  }

  const problems: string[] = [];
  const text = (name: string) => env[name]?.trim() || undefined;
  const port = (name: string) => {
    const given = text(name);
    const isPort = given === undefined || (/^\d{1,5}$/v.test(given) && Number(given) <= 65_535);
    // The API reports an invalid PORT. It may listen on 0, but `npm start` may not.
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
    adoptsSecretKey: args.includes('--adopt-secret-key'),
    adoptsStorage: args.includes('--adopt-storage'),
    allowNetworks: text('PUNCTUAL_EGRESS_ALLOW_NETWORKS'),
    opensAddresses: opensAddresses(env),
    mediaDir: text('PUNCTUAL_MEDIA_DIR'),
    publicUrl: text('PUNCTUAL_PUBLIC_URL'),
    problems,
  };
}

/**
 * Checks all settings like the API and the worker do, before anything starts.
 *
 * @throws PlainError with a line per wrong setting
 */
export async function checkSettings(
  root: string,
  settings: StartSettings,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<void> {
  const seenTo = {
    // Placeholders: `npm start` provides the real values.
    DATABASE_URL: settings.databaseUrl ?? 'postgresql://127.0.0.1/punctual',
    SECRET_KEY: settings.secretKey ?? '0123456789abcdef'.repeat(4),
    ...(settings.opensAddresses ? {} : { PUNCTUAL_EGRESS_ALLOW_IN_PRODUCTION: 'yes' }),
  };
  const result = await runCommand(process.execPath, ['cli/admin/check-settings.ts'], {
    cwd: root,
    env: { ...env, ...seenTo },
    signal,
  });
  signal.throwIfAborted();
  if (!result.ok || settings.problems.length > 0) {
    const title = result.ok
      ? 'Correct these settings (docs/operate/settings.md):'
      : result.stderr.trim();
    throw new PlainError([title, ...settings.problems].join('\n- '));
  }
}

const names = ['api', 'postgres', 'temporal', 'temporalHttp', 'temporalUi', 'sandbox'] as const;

export type StartPorts = Readonly<Record<(typeof names)[number], number>>;

/**
 * Chooses ports for all parts: the user's, else those of the last start while they are free.
 *
 * @throws PlainError that names a port in use and the setting that changes it
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
  // The user's own choices come first, so that no other part gets their ports.
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

/** The inputs of `npm start`. */
export type StartPlan = {
  readonly root: string;
  readonly settings: StartSettings;
  readonly ports: StartPorts;
  readonly data: DataFolder;
  readonly env: NodeJS.ProcessEnv;
};

/** The order in which the parts end: a part before those that it uses. */
export const ranks = { work: 0, sandbox: 1, temporal: 2, postgres: 3 } as const;
