import { nearestName } from '../nearest-name.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** Lists every missing or wrong setting at once, so that the operator can fix all of them before the next start. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  /** @param problems A sentence each. */
  constructor(problems: readonly string[]) {
    super(`Correct these settings (docs/operate/settings.md):\n- ${problems.join('\n- ')}`);
    this.problems = problems;
  }
}

/** A setting without surrounding spaces; `otherwise` when it is unset or empty. */
export const textSetting = (env: Env, name: string, otherwise: string): string =>
  env[name]?.trim() || otherwise;

/** The default and the allowed range. */
export type Bounds = { readonly otherwise: number; readonly least: number; readonly most: number };

/** @param problems Gets a sentence when the value is not a whole number within its bounds. */
export function wholeNumber(
  env: Env,
  name: string,
  { otherwise, least, most }: Bounds,
  problems: string[],
): number {
  const given = textSetting(env, name, String(otherwise));
  if (!/^\d{1,15}$/v.test(given) || Number(given) < least || Number(given) > most) {
    problems.push(`${name} must be a whole number from ${least} to ${most}, not "${given}".`);
  }

  return Number(given);
}

/** @returns the URL in an optional setting, without a trailing slash; null when it is not set. */
export const optionalAddress = (
  env: Env,
  name: string,
  example: string,
  problems: string[],
): string | null =>
  textSetting(env, name, '') === '' ? null : address(env, name, example, problems);

/** Reads the URL of a server, without a trailing slash. @param problems Gets a sentence when the value is not a URL. */
export function address(env: Env, name: string, otherwise: string, problems: string[]): string {
  const given = textSetting(env, name, otherwise);
  const url = URL.parse(given);
  if (!url || !/^https?:$/v.test(url.protocol) || url.search !== '' || url.hash !== '') {
    problems.push(`${name} must be an address such as ${otherwise}, not "${given}".`);
  }

  return given.replace(/(?<!\/)\/+$/v, '');
}

type Readers = Readonly<Record<string, (env: Env) => unknown>>;

type Settings<T extends Readers> = { readonly [Name in keyof T]: ReturnType<T[Name]> };

/** Reads all settings of a process, so that one start reports every wrong setting. @throws ConfigError */
export function readSettings<T extends Readers>(env: Env, readers: T): Settings<T> {
  const problems: string[] = [];
  const known = new Set(ofOtherPrograms);
  const noted = new Proxy(env, {
    get: (_env, name) => {
      known.add(String(name));
      return env[String(name)];
    },
  });
  const read = Object.entries(readers).map(([name, reader]) => {
    try {
      return [name, reader(noted)];
    } catch (error) {
      if (!(error instanceof ConfigError)) {
        throw error;
      }

      problems.push(...error.problems);
      return [name, undefined];
    }
  });
  problems.unshift(...unknownSettings(env, [...known]));
  if (problems.length > 0) {
    throw new ConfigError(problems);
  }

  return Object.fromEntries(read) as Settings<T>;
}

/** Like `readSettings`, but prints the problems to stderr and exits with code 1. */
export function readSettingsOrExit<T extends Readers>(env: Env, readers: T): Settings<T> {
  try {
    return readSettings(env, readers);
  } catch (error) {
    if (!(error instanceof ConfigError)) {
      throw error;
    }

    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}

/** Settings that only other programs of Punctual read, such as `npm start`. */
const ofOtherPrograms: readonly string[] = [
  'PUNCTUAL_API_KEY',
  'PUNCTUAL_CHROMIUM',
  'PUNCTUAL_DATA',
  'PUNCTUAL_POSTGRES_PORT',
  'PUNCTUAL_PROFILE',
  'PUNCTUAL_SANDBOX_DATA',
  'PUNCTUAL_SANDBOX_PORT',
  'PUNCTUAL_TEMPORAL_PORT',
  'PUNCTUAL_TEMPORAL_UI_PORT',
  'PUNCTUAL_URL',
];

/** The settings that Temporal's library reads. Its other programs have more names with the prefix. */
const ofTemporal: readonly string[] = [
  'TEMPORAL_ADDRESS',
  'TEMPORAL_API_KEY',
  'TEMPORAL_CONFIG_FILE',
  'TEMPORAL_NAMESPACE',
  'TEMPORAL_PROFILE',
  'TEMPORAL_TLS_SERVER_NAME',
  ...['CLIENT_CERT', 'CLIENT_KEY', 'SERVER_CA_CERT'].flatMap((pem) => [
    `TEMPORAL_TLS_${pem}_DATA`,
    `TEMPORAL_TLS_${pem}_PATH`,
  ]),
];

/** Settings without a prefix, which users often write with one. */
const unprefixed = ['DATABASE_URL', 'HOST', 'LOG_LEVEL', 'PORT', 'SECRET_KEY'];

/**
 * A process refuses to start with a name that nothing reads: a typo would silently use the default.
 *
 * @returns a sentence for each unknown setting.
 */
function unknownSettings(env: Env, known: readonly string[]): string[] {
  const services = servicesIn(env);
  const unknown = Object.keys(env).filter(
    (name) =>
      name.startsWith('PUNCTUAL_') &&
      !known.includes(name) &&
      !name.startsWith('PUNCTUAL_TEST_') &&
      !services.some((service) => name.startsWith(service)) &&
      env[name]?.trim(),
  );
  const ofOurs = unknown.map((name) => {
    const unprefixedName = unprefixed.find((other) => name === `PUNCTUAL_${other}`);
    const nearest = unprefixedName ?? nearestName(name, known);
    const hint = nearest
      ? `Did you mean ${nearest}?`
      : 'Unset it; docs/operate/settings.md lists them all.';
    return `Unknown setting ${name}. ${hint}`;
  });
  return [...ofOurs, ...misspeltOfTemporal(env)];
}

/** Names that differ from those of Temporal's library by one or two letters. */
const misspeltOfTemporal = (env: Env): string[] =>
  Object.keys(env)
    .filter((name) => name.startsWith('TEMPORAL_') && env[name]?.trim())
    .flatMap((name) => {
      const nearest = nearestName(name, ofTemporal);
      return nearest === undefined || env[nearest] !== undefined || !isSpelling(name, nearest)
        ? []
        : [`Unknown setting ${name}. Did you mean ${nearest}?`];
    });

/** Another program's TEMPORAL_UI_ADDRESS is no TEMPORAL_ADDRESS. */
const isSpelling = (name: string, nearest: string): boolean =>
  name.split('_').length === nearest.split('_').length ||
  name.replaceAll('_', '') === nearest.replaceAll('_', '');

/** Prefixes of the variables that Kubernetes adds for each service of a namespace, such as `PUNCTUAL_SERVICE_HOST`. */
const servicesIn = (env: Env): string[] =>
  Object.keys(env)
    .filter((name) => name.endsWith('_SERVICE_HOST'))
    .map((name) => name.slice(0, -'SERVICE_HOST'.length))
    .flatMap((service) => [`${service}SERVICE_`, `${service}PORT`]);
