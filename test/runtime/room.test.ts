import test from 'ava';
import { readConfig } from '../../runtime/config/read-config.ts';

const needed = { DATABASE_URL: 'postgresql://u@localhost/p', SECRET_KEY: 'ab'.repeat(32) };

test('by default a workspace may have 10 GB of files and 10,000 scheduled posts, and unused files stay', (t) => {
  const { quotas, retentionDays, media } = readConfig(needed);
  t.deepEqual(quotas, {
    scheduled: 10_000,
    drafts: 10_000,
    text_bytes: 1_000_000_000,
    files: 10_000,
    media_bytes: 10_000_000_000,
    channels: 100,
  });
  t.deepEqual(retentionDays, { deliveries: 30, finds: 30, metricDays: 730, unusedMedia: 0 });
  t.is(media.leastFree, 10);
});

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
    PUNCTUAL_KEEP_FINDS_DAYS: '8',
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
  t.deepEqual(retentionDays, { deliveries: 7, finds: 8, metricDays: 10, unusedMedia: 9 });
  t.is(media.leastFree, 0);
});

for (const [setting, wrong] of [
  ['PUNCTUAL_QUOTA_DRAFTS', '1e6'],
  ['PUNCTUAL_QUOTA_MEDIA_BYTES', '1000000000000000'],
  ['PUNCTUAL_DISK_FREE_PERCENT', '101'],
  ['PUNCTUAL_KEEP_DELIVERIES_DAYS', '0'],
  ['PUNCTUAL_KEEP_FINDS_DAYS', 'never'],
  ['PUNCTUAL_KEEP_METRICS_DAYS', '0'],
  ['PUNCTUAL_KEEP_UNUSED_MEDIA_DAYS', '-1'],
] as const) {
  test(`the setting ${setting}=${wrong} prevents a start`, (t) => {
    t.throws(() => readConfig({ ...needed, [setting]: wrong }), {
      name: 'ConfigError',
      message: new RegExp(`${setting} must be a whole number`, 'v'),
    });
  });
}
