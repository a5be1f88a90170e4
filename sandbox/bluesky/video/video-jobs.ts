import { createHash, randomBytes } from 'node:crypto';
import type { Files } from '../../files.ts';
import { createProcessing } from '../../processing.ts';
import type { Script } from '../../script.ts';
import { uploadBlob, type Blob } from '../blobs.ts';

/** The most jobs kept; the oldest are dropped. */
const maxJobs = 200;

/** Source: lexicon `app.bsky.video.defs`. */
type JobStatus = {
  readonly jobId: string;
  readonly did: string;
  readonly state:
    | 'JOB_STATE_CREATED'
    | 'JOB_STATE_ENCODING'
    | 'JOB_STATE_COMPLETED'
    | 'JOB_STATE_FAILED';
  readonly blob?: Blob;
  readonly error?: string;
  readonly message?: string;
};

export type VideoJobs = {
  /** @returns the job, and whether the service already has this video. */
  begin(
    did: string,
    bytes: Buffer,
  ): Promise<{ readonly status: JobStatus; readonly isKnown: boolean }>;
  /** Polls a job, which advances it. Returns undefined for an unknown job. */
  poll(jobId: string): JobStatus | undefined;
};

type Job = { readonly did: string; readonly digest: string; readonly blob: Blob | null };

/** The jobs of Bluesky's video service, in memory only. */
export function createVideoJobs(files: Files, script: Script): VideoJobs {
  const jobs = new Map<string, Job>();
  const processing = createProcessing(script);
  const statusOf = (jobId: string, { did, blob }: Job): JobStatus => {
    const state = blob ? processing.stateOf(jobId) : 'failed';
    const error = `video processing error for job: ${jobId}`;
    return {
      jobId,
      did,
      ...(state === 'failed'
        ? { state: 'JOB_STATE_FAILED', error, message: 'Failed to process video' }
        : state === 'processing' || !blob
          ? { state: 'JOB_STATE_ENCODING' }
          : { state: 'JOB_STATE_COMPLETED', blob }),
    };
  };
  return {
    async begin(did, bytes) {
      const digest = createHash('sha256').update(bytes).digest('hex');
      const known = [...jobs].find(
        ([jobId, job]) =>
          job.did === did &&
          job.digest === digest &&
          job.blob !== null &&
          processing.stateOf(jobId) !== 'failed',
      );
      if (known) {
        return { status: statusOf(...known), isKnown: true };
      }
      const jobId = randomBytes(10).toString('hex');
      jobs.set(jobId, { did, digest, blob: await encoded(files, bytes) });
      processing.begin(jobId, { network: 'bluesky', texts: [], key: digest });
      for (const oldest of jobs.keys()) {
        if (jobs.size <= maxJobs) {
          break;
        }
        jobs.delete(oldest);
        processing.forget(oldest);
      }
      return { status: { jobId, did, state: 'JOB_STATE_CREATED' }, isKnown: false };
    },
    poll(jobId) {
      const job = jobs.get(jobId);
      if (job) {
        processing.poll(jobId);
      }
      return job && statusOf(jobId, job);
    },
  };
}

/** An empty box to append: the video plays as before, but its bytes differ, like those of an encoder's result. */
const emptyBox = Buffer.from('0000000866726565', 'hex');

/** @returns null for a file that is not an MP4. */
async function encoded(files: Files, bytes: Buffer): Promise<Blob | null> {
  const found = await uploadBlob(files, Buffer.concat([bytes, emptyBox])).catch(() => null);
  return found?.blob.mimeType === 'video/mp4' ? found.blob : null;
}
