import test from 'ava';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { openNetworks } from '../../networks/registry.ts';
import { readConfig } from '../../runtime/config/read-config.ts';
import { ConfigError, readSettings } from '../../runtime/config/settings.ts';
import { temporalOptions } from '../../temporal/settings.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Many wrong settings; each must be reported once. */
const wrong = {
  DATABASE_URL: 'mysql://localhost/punctual',
  SECRET_KEY: '0'.repeat(64),
  PORT: 'web',
  PUNCTUAL_BRAND_NAME: 'a\u202eb',
  PUNCTUAL_BRAND_LOGO_URL: 'http://album.example/logo.png',
  PUNCTUAL_BRAND_COLOR: 'blue',
  PUNCTUAL_BRAND_TERMS_URL: 'javascript:alert(1)',
  PUNCTUAL_BRAND_PRIVACY_URL: 'https://ana@album.example/',
  PUNCTUAL_S3_BUCKET: 'Media Files',
  PUNCTUAL_X_API_URL: 'foo',
  PUNCTUAL_X_METRICS_EVERY_HOURS: '0',
  PUNCTUAL_TEMPORAL_UI_URL: 'nonsense',
  PUNCTUAL_SANDBOX_URL: 'nonsense',
  PUNCTUAL_QUOTA_SCHEDULD: '5',
  PUNCTUAL_WORKFLOW_BUNDLE: 'package.json',
  TEMPORAL_ADDRESS: 'http://127.0.0.1:7233',
  TEMPORAL_TLS: 'yes',
};

const commands = [
  ['api/main.ts'],
  ['worker/main.ts'],
  ['cli/admin/main.ts', 'workspace', 'list'],
  ['scripts/start.ts'],
];

for (const command of commands) {
  test(`${command[0]} reports all wrong settings at once, in plain text, and exits with 1`, async (t) => {
    const { NODE_OPTIONS: _, ...inherited } = process.env;
    const start = command[0] === 'scripts/start.ts' ? { PUNCTUAL_SANDBOX_PORT: 'web' } : {};
    const env = { ...inherited, ...wrong, ...start };
    const child = spawn(process.execPath, command, { cwd: root, env, timeout: 150_000 });
    const [stdout, stderr] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit'),
    ]);

    t.is(child.exitCode, 1);
    t.is(stdout, '');
    const [title, ...lines] = stderr.trim().split('\n');
    t.is(title, 'Correct these settings (docs/operate/settings.md):');
    const named = lines.map((line) => /^- (?:Unknown setting )?(?<name>[A-Z\d_]+)/v.exec(line));
    const names = named.map((found) => found?.groups?.['name'] ?? 'another line');
    t.deepEqual(names.toSorted(), Object.keys({ ...wrong, ...start }).toSorted());
  });
}

const unknownIn = (env: Record<string, string>): readonly string[] => {
  try {
    readSettings(env, { config: readConfig, networks: openNetworks, temporal: temporalOptions });
    return [];
  } catch (error) {
    const { problems } = error as ConfigError;
    return problems.filter((problem) => problem.startsWith('Unknown'));
  }
};

test('an unknown setting is refused with the most similar known name', (t) => {
  const refused: Readonly<Record<string, string>> = {
    PUNCTUAL_QUOTA_SCHEDULD: 'Did you mean PUNCTUAL_QUOTA_SCHEDULED?',
    PUNCTUAL_DATABSE_POOL: 'Did you mean PUNCTUAL_DATABASE_POOL?',
    PUNCTUAL_LOG_LEVEL: 'Did you mean LOG_LEVEL?',
    PUNCTUAL_DATABASE_URL: 'Did you mean DATABASE_URL?',
    TEMPORAL_NAMESPCE: 'Did you mean TEMPORAL_NAMESPACE?',
    TEMPORAL_TLS_SERVERNAME: 'Did you mean TEMPORAL_TLS_SERVER_NAME?',
    PUNCTUAL_WEATHER_FORECAST: 'Unset it; docs/operate/settings.md lists them all.',
  };
  for (const [name, hint] of Object.entries(refused)) {
    t.deepEqual(unknownIn({ [name]: 'x' }), [`Unknown setting ${name}. ${hint}`]);
  }
});

test('names of tests, of Kubernetes and of other programs, and names without a value, are not unknown settings', (t) => {
  const env = {
    PUNCTUAL_TEST_SEED: '1',
    PUNCTUAL_CHROMIUM: '/usr/bin/chromium',
    PUNCTUAL_OLD: ' ',
    PUNCTUAL_SANDBOX_PORT: '4000',
    PUNCTUAL_DATA: '.data',
    // The variables in a Kubernetes pod for services named "punctual" and "punctual-api".
    PUNCTUAL_SERVICE_HOST: '10.0.0.1',
    PUNCTUAL_SERVICE_PORT_HTTP: '80',
    PUNCTUAL_PORT: 'tcp://10.0.0.1:80',
    PUNCTUAL_PORT_80_TCP_ADDR: '10.0.0.1',
    PUNCTUAL_API_SERVICE_HOST: '10.0.0.2',
    PUNCTUAL_API_PORT_80_TCP: 'tcp://10.0.0.2:80',
    TEMPORAL_VERSION_CHECK_DISABLED: '1',
    TEMPORAL_POSTGRES_PASSWORD: 'x',
    TEMPORAL_CODEC_ENDPOINT: 'https://codec.example',
    TEMPORAL_GRPC_META_TEAM: 'x',
    TEMPORAL_TLS_CLIENT_KEY_DATA: 'x',
    TEMPORAL_NAMESPACE: 'punctual',
    TEMPORAL_NAMESPACES: 'punctual others',
    TEMPORAL_UI_ADDRESS: 'ui.example',
  };
  t.deepEqual(unknownIn(env), []);
});

const problemsOf = (env: Record<string, string>): readonly string[] => {
  try {
    temporalOptions(env);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) {
      throw error;
    }

    return error.problems;
  }
};

test('invalid settings of Temporal are reported', async (t) => {
  const folder = await temporaryFolder(t);
  const file = path.join(folder, 'temporal.toml');
  await writeFile(file, '[profile.default]\naddress = "temporal.example:7233"\n');
  const broken = path.join(folder, 'broken.toml');
  await writeFile(broken, '[profile');
  const empty = path.join(folder, 'empty.toml');
  await writeFile(empty, '');
  const missing = path.join(folder, 'missing');
  const cases: readonly (readonly [Record<string, string>, RegExp])[] = [
    [{ TEMPORAL_CONFIG_FILE: missing }, /^TEMPORAL_CONFIG_FILE: there is no file .*missing\./v],
    [{ TEMPORAL_CONFIG_FILE: broken }, /^TEMPORAL_CONFIG_FILE: .* cannot be used: /v],
    [{ TEMPORAL_CONFIG_FILE: empty }, /^TEMPORAL_CONFIG_FILE: .* cannot be used: /v],
    [
      { TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: 'prod' },
      /^TEMPORAL_PROFILE: .* has no profile "prod"\./v,
    ],
    [{ TEMPORAL_ADDRESS: 'https://temporal.example:7233' }, /^TEMPORAL_ADDRESS must be a host/v],
    [{ TEMPORAL_ADDRESS: 'temporal.example:grpc' }, /^TEMPORAL_ADDRESS must be a host/v],
    [{ TEMPORAL_TLS: 'TRUE' }, /^TEMPORAL_TLS must be true or false, not "TRUE"\./v],
    [
      { TEMPORAL_TLS_SERVER_CA_CERT_PATH: missing },
      /^TEMPORAL_TLS_SERVER_CA_CERT_PATH \(.*missing\) cannot be read as PEM: ENOENT/v,
    ],
    [
      { TEMPORAL_TLS_SERVER_CA_CERT_PATH: file },
      /^TEMPORAL_TLS_SERVER_CA_CERT_PATH \(.*toml\) cannot be read as PEM: /v,
    ],
  ];
  for (const [env, expected] of cases) {
    const problems = problemsOf({ HOME: folder, ...env });
    t.is(problems.length, 1, problems.join('\n'));
    t.regex(problems[0] ?? '', expected);
  }

  const lone = problemsOf({ HOME: folder, TEMPORAL_TLS_CLIENT_CERT_PATH: missing });
  t.is(lone.length, 2);
  t.regex(lone[1] ?? '', /^TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH belong/v);
  for (const address of ['temporal.example', '127.0.0.1:7233', '[::1]:7233', 'a.b.tmprl.cloud:7']) {
    t.deepEqual(problemsOf({ HOME: folder, TEMPORAL_ADDRESS: address }), []);
  }
  t.is(
    temporalOptions({ TEMPORAL_CONFIG_FILE: file }).connectionOptions.address,
    'temporal.example:7233',
  );
});

const needed = { DATABASE_URL: 'postgresql://u@localhost/p', SECRET_KEY: 'ab'.repeat(32) };

test('each quota and each retention time has its setting', (t) => {
  const { quotas, retentionDays, media } = readConfig({
    ...needed,
    PUNCTUAL_QUOTA_SCHEDULED: '1',
    PUNCTUAL_QUOTA_DRAFTS: '2',
    PUNCTUAL_QUOTA_TEXT_BYTES: '3',
    PUNCTUAL_QUOTA_FILES: '4',
    PUNCTUAL_QUOTA_MEDIA_BYTES: '999999999999999',
    PUNCTUAL_QUOTA_CHANNELS: '0',
    PUNCTUAL_DISK_FREE_PERCENT: '0',
    PUNCTUAL_KEEP_DELIVERIES_DAYS: '7',
    PUNCTUAL_KEEP_METRICS_DAYS: '10',
    PUNCTUAL_KEEP_UNUSED_MEDIA_DAYS: '9',
  });
  t.deepEqual(quotas, {
    scheduled: 1,
    drafts: 2,
    text_bytes: 3,
    files: 4,
    media_bytes: 999_999_999_999_999,
    channels: 0,
  });
  t.deepEqual(retentionDays, { deliveries: 7, metricDays: 10, unusedMedia: 9 });
  t.is(media.leastFree, 0);
});

for (const [setting, value] of [
  ['PUNCTUAL_QUOTA_DRAFTS', '1e6'],
  ['PUNCTUAL_QUOTA_MEDIA_BYTES', '1000000000000000'],
  ['PUNCTUAL_DISK_FREE_PERCENT', '101'],
  ['PUNCTUAL_KEEP_DELIVERIES_DAYS', '0'],
  ['PUNCTUAL_KEEP_DELIVERIES_DAYS', 'never'],
  ['PUNCTUAL_KEEP_METRICS_DAYS', '0'],
  ['PUNCTUAL_KEEP_UNUSED_MEDIA_DAYS', '-1'],
] as const) {
  test(`the setting ${setting}=${value} prevents a start`, (t) => {
    t.throws(() => readConfig({ ...needed, [setting]: value }), {
      name: 'ConfigError',
      message: new RegExp(`${setting} must be a whole number`, 'v'),
    });
  });
}
