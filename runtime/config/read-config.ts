import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brandFields, brandOf, type Brand } from '../../domain/brand.ts';
import type { Quotas } from '../../domain/quotas.ts';
import type { StorageSettings } from '../storage/create-storage.ts';
import { egressAllow, returnUrls, type EgressAllow } from './allowed-addresses.ts';
import { databaseConnection, DatabaseUrlError } from './database-connection.ts';
import {
  address,
  ConfigError,
  optionalAddress,
  textSetting,
  wholeNumber,
  type Env,
} from './settings.ts';

/** The settings of the processes. Each network's settings are in its folder; docs/operate/settings.md lists all of them. */
export type Config = {
  readonly host: string;
  readonly port: number;
  /** Port of a worker's `/livez` and `/readyz`; 0 disables them. */
  readonly workerHealthPort: number;
  /** Without a trailing slash, like all URLs here. */
  readonly publicUrl: string;
  readonly databaseUrl: string;
  readonly databasePoolSize: number;
  /** When the API and workers start. */
  readonly migrates: boolean;
  /** 32 bytes in hex. Seals tokens and signing secrets in the database. */
  readonly secretKey: string;
  readonly logLevel: string;
  readonly egressAllow: EgressAllow;
  readonly media: StorageSettings;
  readonly rateLimits: RateLimits;
  /** Concurrent requests of one API key in an API process; 0 is unlimited. */
  readonly requestsPerKey: number;
  /** Defaults for workspaces without quotas of their own. */
  readonly quotas: Quotas;
  readonly retentionDays: RetentionDays;
  readonly temporalUiUrl: string | null;
  readonly sandboxUrl: string | null;
  readonly returnUrls: readonly URL[];
  /** The brand of pages for workspaces without their own. */
  readonly brand: Brand;
  /** Path of a prebuilt workflow bundle; null when the worker bundles the code at startup. */
  readonly workflowBundle: string | null;
  /** Number of proxies in front of the API whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: number;
};

/** @throws ConfigError */
export function readConfig(env: Env = process.env): Config {
  const problems: string[] = [];
  const config = {
    host: textSetting(env, 'HOST', '127.0.0.1'),
    port: wholeNumber(env, 'PORT', aPort(3000), problems),
    workerHealthPort: wholeNumber(env, 'PUNCTUAL_WORKER_HEALTH_PORT', aPort(3001), problems),
    publicUrl: publicUrl(env, problems),
    databaseUrl: databaseUrl(env, problems),
    databasePoolSize: wholeNumber(env, 'PUNCTUAL_DATABASE_POOL', poolSizes, problems),
    migrates: choice(env, 'PUNCTUAL_MIGRATE', ['on', 'off'], problems) === 'on',
    secretKey: secretKey(env, problems),
    logLevel: choice(env, 'LOG_LEVEL', logLevels, problems),
    egressAllow: egressAllow(env, problems),
    media: mediaSettings(env, problems),
    rateLimits: rateLimits(env, problems),
    requestsPerKey: wholeNumber(env, 'PUNCTUAL_REQUESTS_PER_KEY', from(0, 50), problems),
    quotas: quotas(env, problems),
    retentionDays: retentionDays(env, problems),
    temporalUiUrl: optionalAddress(
      env,
      'PUNCTUAL_TEMPORAL_UI_URL',
      'http://127.0.0.1:8233',
      problems,
    ),
    sandboxUrl: optionalAddress(env, 'PUNCTUAL_SANDBOX_URL', 'http://127.0.0.1:4000', problems),
    returnUrls: returnUrls(env, problems),
    brand: brand(env, problems),
    workflowBundle: workflowBundle(env, problems),
    trustedProxies: wholeNumber(env, 'PUNCTUAL_TRUST_PROXY', proxies, problems),
  };
  if (problems.length > 0) {
    throw new ConfigError(problems);
  }

  return config;
}

function publicUrl(env: Env, problems: string[]): string {
  const given = textSetting(env, 'PUNCTUAL_PUBLIC_URL', '');
  if (given === '') {
    const listens = textSetting(env, 'HOST', '127.0.0.1');
    const host = ['0.0.0.0', '::'].includes(listens) ? '127.0.0.1' : listens;
    return `http://${host.includes(':') ? `[${host}]` : host}:${textSetting(env, 'PORT', '3000')}`;
  }

  return address(env, 'PUNCTUAL_PUBLIC_URL', 'https://punctual.example', problems);
}

/** At least two, so that one slow statement does not block every other query of the process. */
const poolSizes = { otherwise: 10, least: 2, most: 10_000 };

function databaseUrl(env: Env, problems: string[]): string {
  const given = textSetting(env, 'DATABASE_URL', '');
  if (!/^postgres(?:ql)?:\/\//v.test(given)) {
    problems.push(
      'DATABASE_URL must be a PostgreSQL address such as postgresql://user:password@host:5432/punctual. When it is not set, "npm start" uses an embedded database, which "npm run admin" finds.',
    );
  } else if (/%(?![0-9a-f]{2})/iv.test(given)) {
    problems.push(
      'DATABASE_URL contains a "%" that does not start an escape sequence. Write "%25" for a "%" in a user or a password.',
    );
  } else {
    try {
      databaseConnection(given);
    } catch (error) {
      if (!(error instanceof DatabaseUrlError)) {
        throw error;
      }

      problems.push(error.message);
    }
  }

  return given;
}

function secretKey(env: Env, problems: string[]): string {
  const given = textSetting(env, 'SECRET_KEY', '');
  if (!/^[0-9a-f]{64}$/iv.test(given)) {
    problems.push(
      `SECRET_KEY must be 64 hexadecimal characters (openssl rand -hex 32)${given ? `, this has ${given.length} characters` : ''}. Keep it: data that it sealed cannot be read without it. "npm start" creates one under .data/.`,
    );
  } else if (/^(?<character>.)\k<character>*$/v.test(given)) {
    problems.push(
      'SECRET_KEY is one character repeated, which is easy to guess. Create one with "openssl rand -hex 32".',
    );
  }

  return given.toLowerCase();
}

const logLevels = ['info', 'fatal', 'error', 'warn', 'debug', 'trace', 'silent'] as const;

/** One of these words; the first when it is not set. */
function choice<const Word extends string>(
  env: Env,
  name: string,
  words: readonly [Word, ...Word[]],
  problems: string[],
): Word {
  const given = textSetting(env, name, words[0]);
  const word = words.find((one) => one === given);
  if (word === undefined) {
    problems.push(`${name} must be one of ${words.join(', ')}, not "${given}".`);
  }

  return word ?? words[0];
}

const brandSettings = {
  name: 'PUNCTUAL_BRAND_NAME',
  logo_url: 'PUNCTUAL_BRAND_LOGO_URL',
  color: 'PUNCTUAL_BRAND_COLOR',
  terms_url: 'PUNCTUAL_BRAND_TERMS_URL',
  privacy_url: 'PUNCTUAL_BRAND_PRIVACY_URL',
} as const;

const brand = (env: Env, problems: string[]): Brand =>
  brandOf((field) => {
    const setting = brandSettings[field];
    const { form, read } = brandFields[field];
    const given = textSetting(env, setting, '');
    const value = given === '' ? null : read(given);
    if (given !== '' && value === null) {
      problems.push(`${setting} must be ${form}, not "${given}".`);
    }

    return value;
  });

function workflowBundle(env: Env, problems: string[]): string | null {
  const given = textSetting(env, 'PUNCTUAL_WORKFLOW_BUNDLE', '');
  if (given !== '' && !isBundle(given)) {
    problems.push(
      `PUNCTUAL_WORKFLOW_BUNDLE: ${given} is not a bundle of workflows. Create it with "node worker/write-bundle.ts ${given}", or unset it.`,
    );
  }

  return given || null;
}

function isBundle(file: string): boolean {
  try {
    return readFileSync(file, 'utf8').includes('__TEMPORAL__'); // The name under which Temporal loads it.
  } catch {
    return false;
  }
}

const defaultDir = fileURLToPath(new URL('../../.data/media', import.meta.url));

/** Media files are stored on S3 when a bucket is set, otherwise on disk. */
function mediaSettings(env: Env, problems: string[]): StorageSettings {
  const mediaDir = textSetting(env, 'PUNCTUAL_MEDIA_DIR', defaultDir);
  const bucket = textSetting(env, 'PUNCTUAL_S3_BUCKET', '');
  const endpoint = textSetting(env, 'PUNCTUAL_S3_ENDPOINT', '');
  const region = textSetting(env, 'PUNCTUAL_S3_REGION', 'us-east-1');
  if (bucket !== '' && !/^[a-z0-9][a-z0-9.\-]{1,61}[a-z0-9]$/v.test(bucket)) {
    problems.push(`PUNCTUAL_S3_BUCKET must be the name of a bucket, not "${bucket}".`);
  }

  if (endpoint !== '' && !/^https?:$/v.test(URL.parse(endpoint)?.protocol ?? '')) {
    problems.push(
      `PUNCTUAL_S3_ENDPOINT must be an address such as https://s3.example.com, not "${endpoint}".`,
    );
  }

  if (endpoint !== '' && bucket === '') {
    problems.push(
      'PUNCTUAL_S3_ENDPOINT has no effect without PUNCTUAL_S3_BUCKET. Set the bucket, or unset the endpoint.',
    );
  }

  const s3 = bucket === '' ? null : { bucket, region, endpoint: endpoint || undefined };
  const percent = { otherwise: 10, least: 0, most: 100 };
  const leastFree = wholeNumber(env, 'PUNCTUAL_DISK_FREE_PERCENT', percent, problems);
  return { mediaDir, s3, leastFree };
}

const aPort = (otherwise: number) => ({ otherwise, least: 0, most: 65_535 });
const proxies = { otherwise: 0, least: 0, most: 10 };
const from = (least: 0 | 1, otherwise: number) => ({ otherwise, least, most: 1_000_000 });

/** Requests per minute, in each API process. */
export type RateLimits = {
  readonly requests: number;
  /** Per API key: requests that change something. They count towards `requests` too. */
  readonly writes: number;
  /** Requests with an invalid key, per client address. */
  readonly wrongKeys: number;
};

const rateLimits = (env: Env, problems: string[]): RateLimits => ({
  requests: wholeNumber(env, 'PUNCTUAL_RATE_LIMIT', from(1, 120), problems),
  writes: wholeNumber(env, 'PUNCTUAL_RATE_LIMIT_WRITES', from(1, 60), problems),
  wrongKeys: wholeNumber(env, 'PUNCTUAL_RATE_LIMIT_WRONG_KEYS', from(1, 30), problems),
});

const upTo = (otherwise: number) => ({ otherwise, least: 0, most: 999_999_999_999_999 });

/** Default quotas of a workspace. The operator overrides them with `npm run admin -- quota set`. */
export const quotas = (env: Env, problems: string[]): Quotas => ({
  scheduled: wholeNumber(env, 'PUNCTUAL_QUOTA_SCHEDULED', upTo(10_000), problems),
  drafts: wholeNumber(env, 'PUNCTUAL_QUOTA_DRAFTS', upTo(10_000), problems),
  text_bytes: wholeNumber(env, 'PUNCTUAL_QUOTA_TEXT_BYTES', upTo(1_000_000_000), problems),
  files: wholeNumber(env, 'PUNCTUAL_QUOTA_FILES', upTo(10_000), problems),
  media_bytes: wholeNumber(env, 'PUNCTUAL_QUOTA_MEDIA_BYTES', upTo(10_000_000_000), problems),
  channels: wholeNumber(env, 'PUNCTUAL_QUOTA_CHANNELS', upTo(100), problems),
});

/** Retention in days; docs/operate/running.md has the list. */
export type RetentionDays = {
  /** Ended webhook deliveries with their attempts, and events that no delivery needs. */
  readonly deliveries: number;
  /** Daily metrics of posts. */
  readonly metricDays: number;
  /** Files in the media library that no post uses; 0 keeps them forever. */
  readonly unusedMedia: number;
};

const days = (otherwise: number, least: number) => ({ otherwise, least, most: 36_500 });

export const retentionDays = (env: Env, problems: string[]): RetentionDays => ({
  deliveries: wholeNumber(env, 'PUNCTUAL_KEEP_DELIVERIES_DAYS', days(30, 1), problems),
  metricDays: wholeNumber(env, 'PUNCTUAL_KEEP_METRICS_DAYS', days(730, 1), problems),
  unusedMedia: wholeNumber(env, 'PUNCTUAL_KEEP_UNUSED_MEDIA_DAYS', days(0, 0), problems),
});
