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

/**
 * Reads all settings of a process, so that one start reports every wrong setting.
 *
 * @param readers Each throws a ConfigError for the settings that it reads.
 * @throws ConfigError
 */
export function readSettings<T extends Readers>(env: Env, readers: T): Settings<T> {
  const problems = unknownSettings(env);
  const read = Object.entries(readers).map(([name, reader]) => {
    try {
      return [name, reader(env)];
    } catch (error) {
      if (!(error instanceof ConfigError)) {
        throw error;
      }

      problems.push(...error.problems);
      return [name, undefined];
    }
  });
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

/**
 * Every setting that a program of Punctual reads. A process refuses to start with other `PUNCTUAL_` names: a typo would
 * silently use the default. `test/docs/api.test.ts` compares the list with the sources.
 */
export const knownSettings: readonly string[] = [
  'PUNCTUAL_API_KEY',
  'PUNCTUAL_BLUESKY_PLC_URL',
  'PUNCTUAL_BLUESKY_RESOLVER_URL',
  'PUNCTUAL_BRAND_COLOR',
  'PUNCTUAL_BRAND_LOGO_URL',
  'PUNCTUAL_BRAND_NAME',
  'PUNCTUAL_BRAND_PRIVACY_URL',
  'PUNCTUAL_BRAND_TERMS_URL',
  'PUNCTUAL_CONNECT_RETURN_URLS',
  'PUNCTUAL_DATA',
  'PUNCTUAL_DATABASE_POOL',
  'PUNCTUAL_DISK_FREE_PERCENT',
  'PUNCTUAL_EGRESS_ALLOW_DOWNLOADS',
  'PUNCTUAL_EGRESS_ALLOW_IN_PRODUCTION',
  'PUNCTUAL_EGRESS_ALLOW_NETWORKS',
  'PUNCTUAL_EGRESS_ALLOW_WEBHOOKS',
  'PUNCTUAL_KEEP_DELIVERIES_DAYS',
  'PUNCTUAL_KEEP_METRICS_DAYS',
  'PUNCTUAL_KEEP_UNUSED_MEDIA_DAYS',
  'PUNCTUAL_LINKEDIN_API_URL',
  'PUNCTUAL_LINKEDIN_CLIENT_ID',
  'PUNCTUAL_LINKEDIN_CLIENT_SECRET',
  'PUNCTUAL_LINKEDIN_SCOPES',
  'PUNCTUAL_LINKEDIN_VERSION',
  'PUNCTUAL_MEDIA_DIR',
  'PUNCTUAL_MIGRATE',
  'PUNCTUAL_POSTGRES_PORT',
  'PUNCTUAL_PROFILE',
  'PUNCTUAL_PUBLIC_URL',
  'PUNCTUAL_QUOTA_CHANNELS',
  'PUNCTUAL_QUOTA_DRAFTS',
  'PUNCTUAL_QUOTA_FILES',
  'PUNCTUAL_QUOTA_MEDIA_BYTES',
  'PUNCTUAL_QUOTA_SCHEDULED',
  'PUNCTUAL_QUOTA_TEXT_BYTES',
  'PUNCTUAL_RATE_LIMIT',
  'PUNCTUAL_RATE_LIMIT_WRITES',
  'PUNCTUAL_RATE_LIMIT_WRONG_KEYS',
  'PUNCTUAL_REQUESTS_PER_KEY',
  'PUNCTUAL_S3_BUCKET',
  'PUNCTUAL_S3_ENDPOINT',
  'PUNCTUAL_S3_REGION',
  'PUNCTUAL_SANDBOX_DATA',
  'PUNCTUAL_SANDBOX_PORT',
  'PUNCTUAL_SANDBOX_URL',
  'PUNCTUAL_TEMPORAL_PORT',
  'PUNCTUAL_TEMPORAL_UI_PORT',
  'PUNCTUAL_TEMPORAL_UI_URL',
  'PUNCTUAL_TRUST_PROXY',
  'PUNCTUAL_URL',
  'PUNCTUAL_WORKFLOW_BUNDLE',
  'PUNCTUAL_WORKER_HEALTH_PORT',
  'PUNCTUAL_X_API_URL',
  'PUNCTUAL_X_CLIENT_ID',
  'PUNCTUAL_X_CLIENT_SECRET',
  'PUNCTUAL_X_METRICS_EVERY_HOURS',
  'PUNCTUAL_X_METRIC_READS_PER_MONTH',
  'PUNCTUAL_X_POSTS_PER_WORKSPACE_PER_DAY',
  'PUNCTUAL_X_PRICE_LINK_POST',
  'PUNCTUAL_X_PRICE_POST',
  'PUNCTUAL_YOUTUBE_API_URL',
  'PUNCTUAL_YOUTUBE_CLIENT_ID',
  'PUNCTUAL_YOUTUBE_CLIENT_SECRET',
  'PUNCTUAL_YOUTUBE_UNITS_PER_WORKSPACE_PER_DAY',
];

/** Settings without a prefix, which users often write with one. */
const unprefixed = ['DATABASE_URL', 'HOST', 'LOG_LEVEL', 'PORT', 'SECRET_KEY'];

/** Settings of the tests. */
const isExempt = (name: string): boolean =>
  name.startsWith('PUNCTUAL_TEST_') || name === 'PUNCTUAL_CHROMIUM';

/** @returns a sentence for each unknown setting. */
export function unknownSettings(env: Env): string[] {
  const services = servicesIn(env);
  const names = Object.keys(env).filter(
    (name) => env[name]?.trim() && !services.some((service) => name.startsWith(service)),
  );
  return names.flatMap((name) => {
    if (name.startsWith('PUNCTUAL_') && !knownSettings.includes(name) && !isExempt(name)) {
      const nearest = nearestTo(name);
      const hint = nearest
        ? `Did you mean ${nearest}?`
        : 'Unset it; docs/operate/settings.md lists them all.';
      return [`Unknown setting ${name}. ${hint}`];
    }

    return [];
  });
}

/**
 * Kubernetes adds variables for each service of a namespace: a service "punctual" becomes `PUNCTUAL_SERVICE_HOST`,
 * `PUNCTUAL_PORT` and more.
 *
 * @returns the prefixes of such names.
 */
const servicesIn = (env: Env): string[] =>
  Object.keys(env)
    .filter((name) => name.endsWith('_SERVICE_HOST'))
    .map((name) => name.slice(0, -'SERVICE_HOST'.length))
    .flatMap((service) => [`${service}SERVICE_`, `${service}PORT`]);

const nearestTo = (name: string): string | undefined =>
  unprefixed.find((other) => name === `PUNCTUAL_${other}`) ?? nearestName(name, knownSettings);
