import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
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
import { usedForMs, type ByteRange, type MediaStorage } from './media-storage.ts';

export type S3Settings = {
  readonly bucket: string;
  /** Of a server other than Amazon's. */
  readonly endpoint: string | undefined;
  readonly region: string;
};

const prefix = 'media/';

/** Of databases that use the bucket. No key of a file begins so. */
const marks = `${prefix}databases/`;

/** Marks of the databases that this storage belongs to. */
const claims = `${prefix}installations/`;

/** How long the server may take to be reached, and then be silent, in milliseconds. */
const connectionTimeout = 3000;
const socketTimeout = 30_000;

/**
 * Each reader holds a socket for as long as it reads. They are apart from those of other calls, so that slow readers hold up
 * no upload, and more than the client's own 50.
 */
const maxReaders = 1000;

/**
 * Keeps files in a bucket of Amazon S3 or of a server that speaks its protocol, under `media/`.
 *
 * The credentials are found as AWS's own tools find them: in `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, a
 * profile, or the role of the machine.
 */
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
        const body = file.createReadStream().on('error', () => {}); // The client hears of it.
        await client
          .send(new PutObjectCommand({ ...at(key), ...headers, Body: body }))
          .finally(() => body.destroy());
      };
      // The client repeats what fails in passing, but not what it reads from a stream.
      await send()
        .catch((error: unknown) => (isRefusal(error) ? Promise.reject(error) : send()))
        .catch(throwNamed);
    },
    async open(key, range) {
      const part = range ? { Range: header(range) } : {};
      const found = await reading
        .send(new GetObjectCommand({ ...at(key), ...part }))
        .catch((error: unknown) => (error instanceof NoSuchKey ? null : throwNamed(error)));
      return found?.Body instanceof Readable ? found.Body : null;
    },
    async remove(key) {
      await client.send(new DeleteObjectCommand(at(key))).catch(throwNamed);
    },
    async list(position) {
      const after = position === null ? {} : { StartAfter: prefix + position };
      const { Contents = [], IsTruncated = false } = await client
        .send(new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ...after }))
        .catch(throwNamed);
      const keys = Contents.map(({ Key = prefix }) => Key.slice(prefix.length));
      return { keys, next: IsTruncated ? (keys.at(-1) ?? null) : null };
    },
    async markUsed(database) {
      const listed = async () => {
        await client.send(
          new PutObjectCommand({ Bucket: bucket, Key: marks + database, Body: '' }),
        );
        return client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: marks }));
      };
      const { Contents = [] } = await listed().catch(throwNamed);
      return Contents.filter(
        ({ LastModified }) => (LastModified?.getTime() ?? Infinity) > Date.now() - usedForMs,
      ).map(({ Key = marks }) => Key.slice(marks.length));
    },
    claim: (installation) => claim(client, bucket, installation),
    isClaimed: (installation) => isClaimed(client, bucket, installation),
    close: () => {
      client.destroy();
      reading.destroy();
    },
  };
}

async function claim(client: S3Client, Bucket: string, installation: string): Promise<void> {
  const command = new PutObjectCommand({ Bucket, Key: claims + installation, Body: '' });
  await client.send(command).catch(throwNamed);
}

/** Lists the mark: to a HEAD for a missing object, S3 answers 403 where the right to list is missing. */
async function isClaimed(client: S3Client, Bucket: string, installation: string): Promise<boolean> {
  const Prefix = claims + installation;
  const command = new ListObjectsV2Command({ Bucket, Prefix });
  const { Contents = [] } = await client.send(command).catch(throwNamed);
  return Contents.length > 0;
}

function connect({ endpoint, region }: S3Settings, maxSockets: number): S3Client {
  const agent = { keepAlive: true, maxSockets };
  return new S3Client({
    region,
    // Names of buckets as hosts need DNS, which a server of one's own seldom has.
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    requestHandler: { connectionTimeout, socketTimeout, httpAgent: agent, httpsAgent: agent },
    // It would write to the console, beside our log.
    logger: { debug: ignore, info: ignore, warn: ignore, error: ignore },
  });
}

const header = ({ start, end }: ByteRange): string => `bytes=${start}-${end}`;

const ignore = (): void => undefined;

/** What the server refuses (a wrong key, no such bucket) is the operator's to mend; all else may pass. */
function isRefusal(error: unknown): boolean {
  const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
  return status !== undefined && status >= 400 && status < 500 && status !== 429;
}

function throwNamed(error: unknown): never {
  throw isRefusal(error)
    ? error
    : new AppError('unavailable', 'The media storage does not answer at the moment. Try again.', {
        cause: error,
      });
}
