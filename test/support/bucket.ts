import { CreateBucketCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import type { ExecutionContext } from 'ava';
import type { S3Settings } from '../../runtime/storage/s3-storage.ts';
import { env } from './env.ts';

const region = 'us-east-1';

export type Bucket = {
  readonly settings: S3Settings;
  /** The names of all its objects. */
  readonly keys: () => Promise<string[]>;
};

/** Creates an empty bucket for the test and sets its credentials in the environment variables of AWS's tools. */
export async function newBucket(t: ExecutionContext): Promise<Bucket> {
  process.env['AWS_ACCESS_KEY_ID'] = env('PUNCTUAL_TEST_S3_ACCESS_KEY');
  process.env['AWS_SECRET_ACCESS_KEY'] = env('PUNCTUAL_TEST_S3_SECRET_KEY');
  const endpoint = env('PUNCTUAL_TEST_S3_URL');
  const bucket = `test-${crypto.randomUUID()}`;
  const client = new S3Client({ endpoint, region, forcePathStyle: true });
  t.teardown(() => client.destroy());
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  return {
    settings: { bucket, endpoint, region },
    keys: async () => {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
      return Contents.map(({ Key = '' }) => Key);
    },
  };
}
