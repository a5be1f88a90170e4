import { flag, having, mayHave, text, textUpTo, type Value } from '../../domain/json-schema.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf, quote, retryAtMs } from '../answer.ts';
import { type Connection, NetworkError, type PartMedia } from '../network.ts';
import { type NetworkRequest, sendNetworkRequest } from '../http.ts';
import { contentOf } from '../uploads/file-bytes.ts';
import { untilProcessed } from '../uploads/processing.ts';
import { blobOf, blobSchema, type Blob } from './blobs.ts';
import { unreadable } from './client.ts';
import { describeServer } from './connect.ts';
import { serviceToken } from './session.ts';

const patienceMs = 120_000;

/**
 * Has Bluesky's video service process a video, which it then stores on the account's server.
 *
 * The service recognises a video by its bytes and answers a second upload with the job of the first. So nothing is
 * stored between attempts.
 *
 * @returns the blob of the result; null when the service is not available to this account.
 */
export async function processVideo(connection: Connection, file: PartMedia): Promise<Blob | null> {
  const service = await openVideoService(connection);
  if (!service) {
    return null;
  }

  const response = await upload(connection, service, file);
  if ([401, 403, 404, 501].includes(response.status)) {
    return null;
  }

  const job = readJob(response);
  if (job?.blob) {
    return job.blob;
  }
  if (!job?.jobId) {
    const words = job?.message || job?.error || '';
    throw refusedBy(connection, words, `did not accept the file "${file.name}"`, service, response);
  }
  const path = `/xrpc/app.bsky.video.getJobStatus?${new URLSearchParams({ jobId: job.jobId })}`;
  const { signal } = connection;
  const waiting = {
    network: serviceName,
    fileName: file.name,
    patienceMs,
    signal,
    hasProgressed: true,
  };
  const known = resultOf(job, service, file);
  return (
    known ??
    untilProcessed(waiting, async () => {
      const latest = await askService(connection, service, { path });
      const status = latest.status === 200 ? readJob(latest) : null;
      const done = status && resultOf(status, service, file);
      return done ? { done } : {};
    })
  );
}

async function upload(
  connection: Connection,
  service: VideoService,
  file: PartMedia,
): Promise<EgressResponse> {
  // The upload does not contain the file's own name, which may reveal more than its owner wants to publish.
  const { ref } = await blobOf(file);
  const query = new URLSearchParams({ did: connection.remoteId, name: `${ref.$link}.mp4` });
  const path = `/xrpc/app.bsky.video.uploadVideo?${query}`;
  return askService(connection, service, { path, file: contentOf(file, 'video/mp4') });
}

const jobSchema = mayHave({
  jobId: textUpTo(255),
  state: text,
  blob: blobSchema,
  error: text,
  message: text,
});
type Job = Value<typeof jobSchema>;

const readBareJob = answerReader(jobSchema);
const readWrappedJob = answerReader(having({ jobStatus: jobSchema }));

/** An upload returns a bare job; some refusals wrap it in `jobStatus`, as the lexicon says. */
function readJob(response: EgressResponse): Job | null {
  const answer = jsonOf(response);
  return readWrappedJob(answer)?.jobStatus ?? readBareJob(answer);
}

/**
 * The result of a job; null while the service is processing. A blob counts even beside an error: for a video that the
 * service already had, the job has the error `already_exists` and the blob.
 */
function resultOf(
  { blob, state, error, message }: Job,
  { uploadToken }: VideoService,
  { name }: PartMedia,
): Blob | null {
  if (blob) {
    return blob;
  }
  if (state !== 'JOB_STATE_FAILED') {
    return null;
  }

  const serverMessage = quote(message || error, [uploadToken]);
  throw new NetworkError(
    'media_refused',
    `Bluesky's video service could not process the file "${name}"${serverMessage && `: ${serverMessage}`}.`,
    { accepted: 'no', server: 'answered' },
  );
}

/** Converts videos for Bluesky's apps, and stores the result on the account's server. */
type VideoService = {
  readonly baseUrl: string;
  /** Allows the service to store a file on the account's server. */
  readonly uploadToken: string;
};

const serviceName = "Bluesky's video service";
const bluesky = { baseUrl: 'https://video.bsky.app', did: 'did:web:video.bsky.app' };

const minute = 60;
/** Covers the time that the service may need. Servers grant at most an hour. */
const uploadTokenSeconds = 30 * minute;

/**
 * @returns null when the account's server or the service does not support this. The file is then uploaded to the
 * server.
 */
async function openVideoService(connection: Connection): Promise<VideoService | null> {
  try {
    const { did } = await describeServer(connection);
    // Bluesky's service cannot reach a server without TLS. The sandbox, which has no TLS, provides the service too.
    const isOpen = connection.baseUrl.startsWith('http:');
    const service = isOpen ? { baseUrl: connection.baseUrl, did } : bluesky;
    const limits = await limitsOf(connection, service);
    if (!limits.canUpload) {
      const words = limits.message ?? limits.error ?? '';
      throw refusedBy(connection, words, 'accepts no video of this account');
    }

    const uploadBlob = 'com.atproto.repo.uploadBlob';
    const uploadToken = await serviceToken(connection, did, uploadBlob, uploadTokenSeconds);
    return { baseUrl: service.baseUrl, uploadToken };
  } catch (error) {
    if (error instanceof NetworkError && isOptionalFailure(error) && !connection.signal.aborted) {
      return null;
    }

    throw error;
  }
}

const isOptionalFailure = ({ code }: NetworkError): boolean =>
  code === 'network_unavailable' || code === 'permission_missing';

const limitsSchema = having({ canUpload: flag }, { message: text, error: text });
const readLimits = answerReader(limitsSchema);

async function limitsOf(
  connection: Connection,
  { baseUrl, did }: { readonly baseUrl: string; readonly did: string },
): Promise<Value<typeof limitsSchema>> {
  const method = 'app.bsky.video.getUploadLimits';
  const token = await serviceToken(connection, did, method, minute);
  const path = `/xrpc/${method}`;
  const service = { baseUrl, uploadToken: token };
  const response = await askService(connection, service, { path });
  if (response.status === 429) {
    throw refusedBy(connection, '', 'accepts no more requests at the moment', service, response);
  }

  const limits = response.status === 200 ? readLimits(jsonOf(response)) : null;
  if (!limits) {
    throw unreadable('prepare');
  }
  return limits;
}

const askService = (
  { http, signal }: Connection,
  { baseUrl, uploadToken }: VideoService,
  request: Pick<NetworkRequest, 'path' | 'file'>,
): Promise<EgressResponse> =>
  sendNetworkRequest(
    { http, baseUrl, signal },
    {
      method: request.file ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${uploadToken}` },
      purpose: 'upload',
      ...request,
    },
    serviceName,
  );

/** Errors that last. Other limits are daily. */
const permanentRefusal = /not allowed|not old enough|e-?mail/iv;
/** The service does not say when its daily limits end. */
const limitRetryMs = 60 * 60_000;

/** @param words The service's message. @param response Absent where the service answered that it accepts no video. */
function refusedBy(
  { now = () => new Date() }: Connection,
  words: string,
  saying: string,
  service?: VideoService,
  response?: EgressResponse,
): NetworkError {
  const { status = 429 } = response ?? {};
  const quoted = quote(words, [service?.uploadToken ?? '']).replaceAll('_', ' ');
  const message = `${serviceName} ${saying}${quoted && `: ${quoted}`}.`;
  const refused = { accepted: 'no', server: 'answered' } as const;
  if (status < 500 && permanentRefusal.test(words)) {
    return new NetworkError('media_refused', message, refused);
  }
  if (status === 429 || /limit|disabled/iv.test(words)) {
    const nowMs = now().getTime();
    const retryAt = (response && retryAtMs(response, nowMs)) ?? nowMs + limitRetryMs;
    return new NetworkError('rate_limited', message, { ...refused, retryAtMs: retryAt });
  }

  const isOfFile = status < 300 || (status >= 400 && status < 500 && status !== 408);
  return new NetworkError(isOfFile ? 'media_refused' : 'network_unavailable', message, refused);
}
