import { execFile } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { ConfigError } from '../../runtime/config/settings.ts';
import { readConfig, quotas, retentionDays } from '../../runtime/config/read-config.ts';

const needed = {
  DATABASE_URL: 'postgresql://user:password@db.example:5432/punctual',
  SECRET_KEY: 'AB'.repeat(32),
};

const problemsOf = (env: Record<string, string>): string[] => {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) {
      throw error;
    }

    return error.message.split('\n- ').slice(1);
  }
};

const noneOpen = { networks: '', webhooks: '', downloads: '', nat64: '' };

test('two settings are enough, and the others have defaults', (t) => {
  t.deepEqual(readConfig(needed), {
    host: '127.0.0.1',
    port: 3000,
    databaseUrl: needed.DATABASE_URL,
    databasePoolSize: 10,
    secretKey: 'ab'.repeat(32),
    logLevel: 'info',
    egressAllow: noneOpen,
    publicUrl: 'http://127.0.0.1:3000',
    media: { mediaDir: path.resolve('.data/media'), s3: null, leastFree: 10 },
    rateLimits: { requests: 120, writes: 60, wrongKeys: 30 },
    requestsPerKey: 50,
    quotas: quotas({}, []), // room.test.ts has the numbers.
    retentionDays: retentionDays({}, []),
    temporalUiUrl: null,
    sandboxUrl: null,
    returnUrls: [],
    workflowBundle: null,
    trustedProxies: 0,
    workerHealthPort: 3001,
    migrates: true,
    brand: { name: null, logo_url: null, color: null, terms_url: null, privacy_url: null },
  });
});

test('every setting is read, and an empty one counts as not set', (t) => {
  const given = {
    ...needed,
    HOST: ' 0.0.0.0 ',
    PORT: '8080',
    PUNCTUAL_DATABASE_POOL: '25',
    LOG_LEVEL: 'debug',
    PUNCTUAL_EGRESS_ALLOW_NETWORKS: '127.0.0.1/32:8080,[::1]/128:9000',
    PUNCTUAL_EGRESS_ALLOW_WEBHOOKS: '127.0.0.1/32:8081',
    PUNCTUAL_EGRESS_ALLOW_DOWNLOADS: '127.0.0.1/32:8082',
    PUNCTUAL_NAT64_PREFIXES: '64:ff9b::/96',
    PUNCTUAL_PUBLIC_URL: 'https://punctual.example/',
    PUNCTUAL_MEDIA_DIR: '/srv/media',
    PUNCTUAL_S3_BUCKET: 'punctual-media',
    PUNCTUAL_S3_ENDPOINT: 'https://s3.example',
    PUNCTUAL_S3_REGION: 'eu-central-1',
    PUNCTUAL_RATE_LIMIT: '1000000',
    PUNCTUAL_RATE_LIMIT_WRITES: '1',
    PUNCTUAL_RATE_LIMIT_WRONG_KEYS: '5',
    PUNCTUAL_REQUESTS_PER_KEY: '7',
    PUNCTUAL_TEMPORAL_UI_URL: 'https://temporal.example/',
    PUNCTUAL_TRUST_PROXY: '2',
  };
  t.like(readConfig(given), {
    host: '0.0.0.0',
    port: 8080,
    databasePoolSize: 25,
    logLevel: 'debug',
    egressAllow: {
      networks: given.PUNCTUAL_EGRESS_ALLOW_NETWORKS,
      webhooks: given.PUNCTUAL_EGRESS_ALLOW_WEBHOOKS,
      downloads: given.PUNCTUAL_EGRESS_ALLOW_DOWNLOADS,
      nat64: given.PUNCTUAL_NAT64_PREFIXES,
    },
    publicUrl: 'https://punctual.example',
    media: {
      mediaDir: '/srv/media',
      s3: { bucket: 'punctual-media', endpoint: 'https://s3.example', region: 'eu-central-1' },
    },
    rateLimits: { requests: 1_000_000, writes: 1, wrongKeys: 5 },
    requestsPerKey: 7,
    temporalUiUrl: 'https://temporal.example',
    trustedProxies: 2,
  });
  const blank = { ...needed, HOST: '', PORT: ' ', LOG_LEVEL: '' };
  t.deepEqual(readConfig(blank), readConfig(needed));
});

test('a port is a whole number in the range of ports', (t) => {
  for (const PORT of ['65536', '-1', '1.5', '1e3', '0x10', '3000 ', '٣', '99999999999']) {
    t.is(problemsOf({ ...needed, PORT }).length, PORT.trim() === '3000' ? 0 : 1, PORT);
  }

  t.is(readConfig({ ...needed, PORT: '0' }).port, 0);
});

test('a process needs at least two database connections, because a migration uses two', (t) => {
  for (const PUNCTUAL_DATABASE_POOL of ['0', '1', '1.5', 'ten', '10001']) {
    t.is(problemsOf({ ...needed, PUNCTUAL_DATABASE_POOL }).length, 1, PUNCTUAL_DATABASE_POOL);
  }

  t.is(readConfig({ ...needed, PUNCTUAL_DATABASE_POOL: '2' }).databasePoolSize, 2);
});

test('a secret key is 32 bytes in hex', (t) => {
  for (const SECRET_KEY of [
    'ab'.repeat(31),
    'ab'.repeat(33),
    'zz'.repeat(32),
    `${'a'.repeat(63)}!`,
  ]) {
    t.is(problemsOf({ ...needed, SECRET_KEY }).length, 1, SECRET_KEY);
  }
});

test('a database URL may have either of its schemes', (t) => {
  t.deepEqual(problemsOf({ ...needed, DATABASE_URL: 'postgres://db/punctual' }), []);
  const lone = 'postgres://user:50%@db/punctual';
  const many = ['postgresql://a:1,b:2/punctual', 'postgresql://u:p@a,b/punctual'];
  for (const DATABASE_URL of ['db.example:5432', 'http://db/p', 'postgresql:db', lone, ...many]) {
    t.is(problemsOf({ ...needed, DATABASE_URL }).length, 1, DATABASE_URL);
  }
});

for (const purpose of ['networks', 'webhooks', 'downloads'] as const) {
  const name = `PUNCTUAL_EGRESS_ALLOW_${purpose.toUpperCase()}`;

  test(`in production a list of addresses for ${purpose} needs the setting that confirms it`, (t) => {
    const opened = '127.0.0.1/32:8080';
    const list = { ...needed, [name]: opened };
    const production = { ...list, NODE_ENV: 'production' };
    const meant = (word: string) => ({ ...production, PUNCTUAL_EGRESS_ALLOW_IN_PRODUCTION: word });

    for (const env of [production, meant(''), meant('no'), meant('true'), meant('YES')]) {
      const problems = problemsOf(env);
      t.is(problems.length, 1);
      t.true(problems[0]?.startsWith(`${name} opens `), problems[0]);
      t.regex(problems[0] ?? '', /PUNCTUAL_EGRESS_ALLOW_IN_PRODUCTION=yes/v);
    }

    const allowed = { ...noneOpen, [purpose]: opened };
    t.deepEqual(readConfig(meant('yes')).egressAllow, allowed);
    t.deepEqual(readConfig({ ...list, NODE_ENV: 'development' }).egressAllow, allowed);
    t.deepEqual(readConfig({ ...production, [name]: ' ' }).egressAllow, noneOpen);
  });
}

for (const main of ['api/main.ts', 'worker/main.ts']) {
  test(`${main} does not start in production with an unconfirmed allow list, and says why`, async (t) => {
    const file = fileURLToPath(new URL(`../../${main}`, import.meta.url));
    const { NODE_OPTIONS: _, ...inherited } = process.env;
    const env = {
      ...inherited,
      ...needed,
      NODE_ENV: 'production',
      PUNCTUAL_EGRESS_ALLOW_NETWORKS: '127.0.0.1/32:8080',
      PUNCTUAL_EGRESS_ALLOW_IN_PRODUCTION: '',
    };
    const running = promisify(execFile)(process.execPath, [file], { env, timeout: 150_000 });
    const error = await t.throwsAsync(running);

    t.like(error, { code: 1, killed: false });
    t.regex(
      error?.message ?? '',
      /PUNCTUAL_EGRESS_ALLOW_NETWORKS opens addresses that are not public/v,
    );
  });
}
