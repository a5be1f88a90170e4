import type { AppBskyVideoGetJobStatus, ComAtprotoServerGetServiceAuth } from '@atproto/api';
import { accountOf } from '../account.ts';
import { maxStoredFileBytes } from '../../files.ts';
import { Refusal } from '../../refusal.ts';
import type { BlueskyDeps } from '../deps.ts';
import type { Method } from '../method.ts';

/** The server's description and service tokens, and Bluesky's video service, which accepts these tokens. */
export const videoMethods: Readonly<Record<string, Method>> = {
  'com.atproto.server.describeServer': {
    verb: 'GET',
    run: ({ serverDid }) => ({
      did: serverDid,
      availableUserDomains: ['.sandbox.test'],
      blobUploadLimit: maxStoredFileBytes,
    }),
  },
  'com.atproto.server.getServiceAuth': {
    verb: 'GET',
    needs: 'access',
    run: (deps, input) => serviceAuth(deps, input as ComAtprotoServerGetServiceAuth.QueryParams),
  },
  'app.bsky.video.getUploadLimits': {
    verb: 'GET',
    needs: { service: 'app.bsky.video.getUploadLimits' },
    run: () => ({
      canUpload: true,
      remainingDailyVideos: 25,
      remainingDailyBytes: 10_737_418_240,
    }),
  },
  'app.bsky.video.uploadVideo': {
    verb: 'POST',
    needs: { service: 'com.atproto.repo.uploadBlob' },
    takesFile: 'video/mp4',
    run: (deps, input) => uploadVideo(deps, input as Buffer),
  },
  'app.bsky.video.getJobStatus': {
    verb: 'GET',
    run: ({ jobs }, input) => {
      const status = jobs.poll((input as AppBskyVideoGetJobStatus.QueryParams).jobId);
      if (status === undefined) {
        throw new Refusal(404, 'Job not found', { code: 'JobNotFound' });
      }
      return { jobStatus: status };
    },
  },
};

const hourMs = 60 * 60_000;
const minuteMs = 60_000;

function serviceAuth(
  { by, serviceTokens, now }: BlueskyDeps,
  { aud, lxm, exp }: ComAtprotoServerGetServiceAuth.QueryParams,
) {
  const endsAtMs = exp === undefined ? now() + minuteMs : exp * 1000;
  if (endsAtMs < now() || endsAtMs > now() + hourMs) {
    throw new Refusal(400, 'The expiration is in the past, or more than an hour away', {
      code: 'BadExpiration',
    });
  }
  if (lxm === undefined) {
    throw new Refusal(400, 'The sandbox makes tokens for one method only: lxm is missing.');
  }
  const { did: iss } = accountOf(by.account);
  return { token: serviceTokens.issue({ iss, aud, lxm, exp: Math.floor(endsAtMs / 1000) }) };
}

/** Responds with a bare job, as the service does, contrary to its lexicon. */
async function uploadVideo({ by, jobs, query }: BlueskyDeps, bytes: Buffer) {
  const { did } = accountOf(by.account);
  if (query.get('did') !== did || !query.get('name')) {
    throw new Refusal(400, 'The parameters did (of the account) and name are missing.');
  }
  const { status, isKnown } = await jobs.begin(did, bytes);
  if (isKnown) {
    const { jobId } = status;
    throw new Refusal(409, 'Video already processed', {
      code: 'already_exists',
      extra: { did, jobId, state: 'JOB_STATE_COMPLETED' },
    });
  }
  return status;
}
