import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EgressResponse } from '../../../runtime/egress/egress.ts';
import { answerReader, jsonOf, quote } from '../../answer.ts';
import { type Connection, NetworkError, type PartMedia } from '../../network.ts';
import { blobOf } from '../files/blob.ts';
import { bytesToSend } from '../files/video-bytes.ts';
import { blobSchema, type Blob } from '../prepared-post.ts';
import { askService, openVideoService, refusedBy, type VideoService } from './service.ts';

/** How long to wait for the service after the upload. Upload and wait must fit into one attempt. */
const processingTimeoutMs = 120_000;
const firstWaitMs = 500;
const longestWaitMs = 5000;

/**
 * Has Bluesky's video service process a video, which it then stores on the account's server.
 *
 * The service recognises a video by its bytes and answers a second upload with the job of the first. So nothing is
 * stored between attempts.
 *
 * @returns the blob of the result; null when the service is not available to this account.
 * @throws NetworkError with `accepted: 'no'`: `media_refused` when the service cannot process the video, `rate_limited`
 *   at the account's limit, `network_unavailable` while the service is still processing.
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
    throw uploadRefused(response, job, { service, file });
  }
  return (
    resultOf(job, service, file) ?? (await untilProcessed(connection, service, job.jobId, file))
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
  const body = { stream: Readable.from(bytesToSend(file)), sizeBytes: file.sizeBytes };
  return askService(connection, service, {
    path: `/xrpc/app.bsky.video.uploadVideo?${query}`,
    file: { type: 'video/mp4', body },
  });
}

type Job = {
  readonly jobId?: string;
  readonly state?: string;
  readonly blob?: Blob;
  readonly error?: string;
  readonly message?: string;
};

const jobSchema = {
  type: 'object',
  properties: {
    jobId: { type: 'string', maxLength: 255 },
    state: { type: 'string' },
    blob: blobSchema,
    error: { type: 'string' },
    message: { type: 'string' },
  },
};

const readBareJob = answerReader<Job>(jobSchema);
const readWrappedJob = answerReader<{ readonly jobStatus: Job }>({
  type: 'object',
  required: ['jobStatus'],
  properties: { jobStatus: jobSchema },
});

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

async function untilProcessed(
  connection: Connection,
  service: VideoService,
  jobId: string,
  file: PartMedia,
): Promise<Blob> {
  const giveUpAtMs = Date.now() + processingTimeoutMs;
  const path = `/xrpc/app.bsky.video.getJobStatus?${new URLSearchParams({ jobId })}`;
  for (
    let waitMs = firstWaitMs;
    Date.now() < giveUpAtMs;
    waitMs = Math.min(waitMs * 2, longestWaitMs)
  ) {
    const response = await askService(connection, service, { path });
    const job = response.status === 200 ? readJob(response) : null;
    const blob = job && resultOf(job, service, file);
    if (blob) {
      return blob;
    }

    await sleep(waitMs);
  }

  const message = `Bluesky's video service is still processing the file "${file.name}".`;
  throw new NetworkError('network_unavailable', message, { accepted: 'no', hasProgressed: true });
}

function uploadRefused(
  response: EgressResponse,
  job: Job | null,
  { service, file: { name } }: { readonly service: VideoService; readonly file: PartMedia },
): NetworkError {
  const { status } = response;
  const serverMessage = job?.message || job?.error || '';
  if (
    status === 429 ||
    /limit|disabled/iv.test(serverMessage) ||
    job?.error === 'unconfirmed_email'
  ) {
    return refusedBy(
      serverMessage.replaceAll(service.uploadToken, '…'),
      `did not accept the file "${name}"`,
      response,
    );
  }

  const isRefused = status === 200 || (status >= 400 && status < 500 && status !== 408);
  const quoted = quote(serverMessage, [service.uploadToken]);
  return new NetworkError(
    isRefused ? 'media_refused' : 'network_unavailable',
    `Bluesky's video service did not accept the file "${name}" (HTTP ${status})${quoted && `: ${quoted}`}.`,
    { accepted: 'no', server: 'answered' },
  );
}
