import { open } from 'node:fs/promises';
import { PassThrough, pipeline, Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { AppError } from '../../domain/errors.ts';
import { WrongStorageError, type MediaStorage } from './media-storage.ts';

export type S3Settings = {
  readonly bucket: string;
  /** Set for a server other than Amazon's. */
  readonly endpoint: string | undefined;
  readonly region: string;
};

const prefix = 'media/';

/** Marks of the databases that own this storage. No key of a file starts like this. */
const claims = `${prefix}installations/`;

/** In milliseconds: the time to connect, and the longest silence afterwards. */
const connectionTimeout = 3000;
const socketTimeout = 30_000;

/**
 * Each reader holds a socket while it reads. Readers have their own pool, larger than the client's default of 50, so
 * that slow readers do not delay uploads.
 */
const maxReaders = 1000;

/** Stores files in a bucket of Amazon S3 or a compatible server. The credentials come from where AWS's tools look. */
export function s3Storage(settings: S3Settings): MediaStorage {
  const { bucket } = settings;
  const client = connect(settings, 50);
  const reading = connect(settings, maxReaders);
  const at = (key: string) => ({ Bucket: bucket, Key: prefix + key });

  return {
    async put(key, filePath, { type, sizeBytes }) {
      const headers = { ContentLength: sizeBytes, ContentType: type };
      const send = async () => {
        const file = await open(filePath);
        const body = file.createReadStream().on('error', () => {}); // The client reports it.
        await client
          .send(new PutObjectCommand({ ...at(key), ...headers, Body: body }))
          .finally(() => body.destroy());
      };
      // The client retries transient failures, but not with a stream as body.
      await send()
        .catch((error: unknown) => (isRefusal(error) ? Promise.reject(error) : send()))
        .catch(throwNamed(bucket));
    },
    async open(key, range) {
      const part = range ? { Range: `bytes=${range.start}-${range.end}` } : {};
      const found = await reading
        .send(new GetObjectCommand({ ...at(key), ...part }))
        .catch((error: unknown) => (error instanceof NoSuchKey ? null : throwNamed(bucket)(error)));
      // Without the pipeline, the response tells a reader that ends early of a broken connection.
      const body = found?.Body;
      return body instanceof Readable ? pipeline(body, new PassThrough(), ignore) : null;
    },
    async remove(key) {
      await client.send(new DeleteObjectCommand(at(key))).catch(throwNamed(bucket));
    },
    claim: (installation) => claim(client, bucket, installation),
    isClaimed: (installation) => isClaimed(client, bucket, installation),
    close: () => {
      client.destroy();
      reading.destroy();
    },
  };
}

/**
 * Bucket names as hosts need DNS, which self-hosted servers seldom have. Servers that do not know the client's checksums
 * store their framing as part of the file.
 */
const forOtherServers = {
  forcePathStyle: true,
  requestChecksumCalculation: 'WHEN_REQUIRED',
} as const;

async function claim(client: S3Client, Bucket: string, installation: string): Promise<void> {
  const command = new PutObjectCommand({ Bucket, Key: claims + installation, Body: '' });
  await client.send(command).catch(throwNamed(Bucket));
}

/** Lists the mark instead of a HEAD request: for a missing object, S3 answers 403 without the permission to list. */
async function isClaimed(client: S3Client, Bucket: string, installation: string): Promise<boolean> {
  const Prefix = claims + installation;
  const command = new ListObjectsV2Command({ Bucket, Prefix });
  const { Contents = [] } = await client.send(command).catch(throwNamed(Bucket));
  return Contents.length > 0;
}

function connect({ endpoint, region }: S3Settings, maxSockets: number): S3Client {
  const agent = { keepAlive: true, maxSockets };
  return new S3Client({
    region,
    ...(endpoint === undefined ? {} : { endpoint, ...forOtherServers }),
    requestHandler: { connectionTimeout, socketTimeout, httpAgent: agent, httpsAgent: agent },
    // By default it writes to the console, outside of our log.
    logger: { debug: ignore, info: ignore, warn: ignore, error: ignore },
  });
}

const ignore = (): void => undefined;

/** A refusal (a wrong key, no such bucket, another region) needs the operator; any other failure may be transient. */
function isRefusal(error: unknown): error is S3ServiceException {
  const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
  return status !== undefined && status >= 300 && status < 500 && status !== 429;
}

const throwNamed =
  (bucket: string) =>
  (error: unknown): never => {
    const cause = isRefusal(error)
      ? new WrongStorageError(
          `The bucket "${bucket}" of PUNCTUAL_S3_BUCKET refused a request (${error.name}: ${error.message}). Check PUNCTUAL_S3_BUCKET, PUNCTUAL_S3_ENDPOINT, PUNCTUAL_S3_REGION and the access key (AWS_ACCESS_KEY_ID, …).`,
        )
      : error;
    throw new AppError('unavailable', 'The media storage cannot be used now. Try again.', {
      cause,
    });
  };
