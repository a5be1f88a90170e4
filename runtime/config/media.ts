import { fileURLToPath } from 'node:url';
import type { StorageSettings } from '../storage/create-storage.ts';
import { text, wholeNumber, type Env } from './read-values.ts';

const defaultDir = fileURLToPath(new URL('../../.data/media', import.meta.url));

/** Where media files are kept. A bucket makes it S3. */
export function mediaSettings(env: Env, problems: string[]): StorageSettings {
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
