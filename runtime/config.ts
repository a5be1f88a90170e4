import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Quotas } from '../domain/quotas.ts';
import { databaseConnection, DatabaseUrlError } from './config/database-connection.ts';
import { egressAllow, type EgressAllow } from './config/egress-allow.ts';
import {
  callerLimits,
  type CallerLimits,
  retentionDays,
  type RetentionDays,
  quotas,
  rateLimits,
  type RateLimits,
  trustedProxies,
} from './config/limits.ts';
import { returnUrls } from './config/return-urls.ts';
import { ConfigError, optionalAddress, text, wholeNumber, type Env } from './config/read-values.ts';
import type { StorageSettings } from './storage/create-storage.ts';

/** The settings of the processes; those of a network are in its folder. docs/settings.md lists every setting; a test holds the two together. */
export type Config = {
  readonly host: string;
  readonly port: number;
  /** Of a worker's `/livez` and `/readyz`; 0 is none. */
  readonly workerHealthPort: number;
  /** Where browsers reach the API, without a slash at the end: `https://punctual.example`. */
  readonly publicUrl: string;
  readonly databaseUrl: string;
  readonly databasePoolSize: number;
  /** 32 bytes in hex. Seals tokens and signing secrets in the database. */
  readonly secretKey: string;
  readonly logLevel: string;
  readonly egressAllow: EgressAllow;
  readonly media: StorageSettings;
  readonly rateLimits: RateLimits;
  readonly callerLimits: CallerLimits;
  /** Of a workspace for which nothing else was set. */
  readonly quotas: Quotas;
  readonly retentionDays: RetentionDays;
  /** Where people find Temporal's Web UI, without a slash at the end; null when it is not set. */
  readonly temporalUiUrl: string | null;
  /** Where a sandbox plays the networks, without a slash at the end; null when no setting says so. */
  readonly sandboxUrl: string | null;
  /** Where browsers may be sent back to after an account was connected. */
  readonly returnUrls: readonly URL[];
  /** The file of the workflow code that was bundled beforehand; null where the worker bundles it when it starts. */
  readonly workflowBundle: string | null;
  /** How many proxies before the API are believed about whom they forward for; 0 is none. */
  readonly trustedProxies: number;
};

/** @throws ConfigError with one line per setting that is missing or wrong. */
export function readConfig(env: Env = process.env): Config {
  const problems: string[] = [];
  const config = {
    host: text(env, 'HOST', '127.0.0.1'),
    port: port(env, problems),
    workerHealthPort: workerHealthPort(env, problems),
    publicUrl: publicUrl(env, problems),
    databaseUrl: databaseUrl(env, problems),
    databasePoolSize: databasePoolSize(env, problems),
    secretKey: secretKey(env, problems),
    logLevel: logLevel(env, problems),
    egressAllow: egressAllow(env, problems),
    media: mediaSettings(env, problems),
    rateLimits: rateLimits(env, problems),
    callerLimits: callerLimits(env, problems),
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
    workflowBundle: workflowBundle(env, problems),
    trustedProxies: trustedProxies(env, problems),
  };
  if (problems.length > 0) {
    throw new ConfigError(problems);
  }

  return config;
}

const port = (env: Env, problems: string[]): number =>
  wholeNumber(env, 'PORT', { otherwise: 3000, least: 0, most: 65_535 }, problems);

const workerHealthPort = (env: Env, problems: string[]): number =>
  wholeNumber(
    env,
    'PUNCTUAL_WORKER_HEALTH_PORT',
    { otherwise: 3001, least: 0, most: 65_535 },
    problems,
  );

function publicUrl(env: Env, problems: string[]): string {
  const given = text(env, 'PUNCTUAL_PUBLIC_URL', '');
  if (given === '') {
    const listens = text(env, 'HOST', '127.0.0.1');
    const host = ['0.0.0.0', '::'].includes(listens) ? '127.0.0.1' : listens;
    return `http://${host.includes(':') ? `[${host}]` : host}:${text(env, 'PORT', '3000')}`;
  }

  const url = URL.parse(given);
  if (!url || !/^https?:$/v.test(url.protocol) || url.search !== '' || url.hash !== '') {
    problems.push(
      `PUNCTUAL_PUBLIC_URL must be an address such as https://punctual.example, not "${given}".`,
    );
  }

  return given.replace(/\/+$/v, '');
}

/** Two at least, so that one slow statement does not hold up every other query of the process. */
const databasePoolSize = (env: Env, problems: string[]): number =>
  wholeNumber(env, 'PUNCTUAL_DATABASE_POOL', { otherwise: 10, least: 2, most: 10_000 }, problems);

function databaseUrl(env: Env, problems: string[]): string {
  const given = text(env, 'DATABASE_URL', '');
  if (!/^postgres(?:ql)?:\/\//v.test(given)) {
    problems.push(
      'DATABASE_URL must be a PostgreSQL address such as postgresql://user:password@host:5432/punctual. "npm start" brings a database of its own when it is not set.',
    );
  } else if (/%(?![0-9a-f]{2})/iv.test(given)) {
    problems.push(
      'DATABASE_URL has a "%" that begins no escape: in a user or a password it is written "%25".',
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
  const given = text(env, 'SECRET_KEY', '');
  if (!/^[0-9a-f]{64}$/iv.test(given)) {
    problems.push(
      `SECRET_KEY must be 64 hexadecimal characters (openssl rand -hex 32)${given ? `, this has ${given.length} characters` : ''}. Keep it: what it sealed cannot be read without it. "npm start" makes one under .data/.`,
    );
  } else if (/^(?<character>.)\k<character>*$/v.test(given)) {
    problems.push(
      'SECRET_KEY is one character repeated, which anybody can guess. Make one with "openssl rand -hex 32".',
    );
  }

  return given.toLowerCase();
}

function logLevel(env: Env, problems: string[]): string {
  const given = text(env, 'LOG_LEVEL', 'info');
  const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];
  if (!levels.includes(given)) {
    problems.push(`LOG_LEVEL must be one of ${levels.join(', ')}, not "${given}".`);
  }

  return given;
}

function workflowBundle(env: Env, problems: string[]): string | null {
  const given = text(env, 'PUNCTUAL_WORKFLOW_BUNDLE', '');
  if (given !== '' && !existsSync(given)) {
    problems.push(
      `PUNCTUAL_WORKFLOW_BUNDLE: there is no file ${given}. Make it with "node worker/write-bundle.ts ${given}", or unset it.`,
    );
  }

  return given || null;
}

const defaultDir = fileURLToPath(new URL('../.data/media', import.meta.url));

/** Where media files are kept. A bucket makes it S3. */
function mediaSettings(env: Env, problems: string[]): StorageSettings {
  const mediaDir = text(env, 'PUNCTUAL_MEDIA_DIR', defaultDir);
  const bucket = text(env, 'PUNCTUAL_S3_BUCKET', '');
  const endpoint = text(env, 'PUNCTUAL_S3_ENDPOINT', '');
  const region = text(env, 'PUNCTUAL_S3_REGION', 'us-east-1');
  if (bucket !== '' && !/^[a-z0-9][a-z0-9.\-]{1,61}[a-z0-9]$/v.test(bucket)) {
    problems.push(`PUNCTUAL_S3_BUCKET must be the name of a bucket, not "${bucket}".`);
  }

  if (endpoint !== '' && !/^https?:$/v.test(URL.parse(endpoint)?.protocol ?? '')) {
    problems.push(
      `PUNCTUAL_S3_ENDPOINT must be an address such as https://s3.example.com, not "${endpoint}".`,
    );
  }

  if (endpoint !== '' && bucket === '') {
    problems.push('PUNCTUAL_S3_ENDPOINT is of no use without PUNCTUAL_S3_BUCKET.');
  }

  const s3 = bucket === '' ? null : { bucket, region, endpoint: endpoint || undefined };
  const percent = { otherwise: 10, least: 0, most: 100 };
  const leastFree = wholeNumber(env, 'PUNCTUAL_DISK_FREE_PERCENT', percent, problems);
  return { mediaDir, s3, leastFree };
}
