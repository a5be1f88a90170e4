import type { BlobRef } from '@atproto/api';
import type { ExecutionContext } from 'ava';
import { createServer, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { connected } from './bench.ts';
import { listening } from '../../support/listening.ts';

type Answer = { readonly status?: number; readonly body: unknown };

/** The service's planned answers by the last part of its method's name. The last answer repeats. */
export type ServiceAnswers = {
  readonly getUploadLimits?: Answer;
  readonly uploadVideo?: Answer;
  readonly getJobStatus?: readonly Answer[];
};

/** An empty MP4 box, which the service adds to a video so that its result has another CID. */
const emptyBox = Buffer.from('0000000866726565', 'hex');

export const processed = (video: Buffer): Buffer => Buffer.concat([video, emptyBox]);

type Person = Awaited<ReturnType<typeof connected>>['person'];

/**
 * Puts a video service before an account's PDS, at the same address.
 *
 * It uploads its results to the PDS in the account's own session, and checks the claims of its tokens. It does not
 * verify their signatures: the tests' directory has no name under which the PDS could look up the key.
 *
 * @param seen Receives the called methods.
 */
export async function videoServiceBefore(
  t: ExecutionContext,
  person: Person,
  answers: ServiceAnswers = {},
) {
  const seen: string[] = [];
  const play = playService(t, person, answers);
  const server = createServer(async (request, response) => {
    const { nsid = '' } = /^\/xrpc\/(?<nsid>[\w.]+)/v.exec(request.url ?? '')?.groups ?? {};
    const name = nsid.split('.').at(-1) ?? '';
    seen.push(name);
    const body = await buffer(request);
    const isService = nsid.startsWith('app.bsky.video.');
    const answer = isService ? await play(name, request, body) : await pass(person, request, body);
    response
      .writeHead(answer.status ?? 200, { 'content-type': 'application/json' })
      .end(JSON.stringify(answer.body));
  });
  const port = await listening(t, server);
  return { url: `http://127.0.0.1:${port}`, seen };
}

function playService(t: ExecutionContext, { agent, did }: Person, answers: ServiceAnswers) {
  const jobStatuses = [...(answers.getJobStatus ?? [])];
  let blob: BlobRef | undefined;
  const checkToken = ({ headers }: IncomingMessage, lxm: string) => {
    const [, claims = ''] = (headers.authorization ?? '').split('.');
    const token = JSON.parse(Buffer.from(claims, 'base64url').toString());
    t.like(token, { iss: did, aud: 'did:web:localhost', lxm });
  };
  return async (name: string, request: IncomingMessage, body: Buffer): Promise<Answer> => {
    if (name === 'getUploadLimits') {
      checkToken(request, 'app.bsky.video.getUploadLimits');
      return answers.getUploadLimits ?? { body: { canUpload: true } };
    }
    if (name === 'uploadVideo') {
      checkToken(request, 'com.atproto.repo.uploadBlob');
      t.is(new URL(request.url ?? '', 'http://x').searchParams.get('did'), did);
      t.is(request.headers['content-type'], 'video/mp4');
      const { data } = await agent.uploadBlob(processed(body), { encoding: 'video/mp4' });
      ({ blob } = data);
      return answers.uploadVideo ?? { body: { jobId: 'job-1', did, state: 'JOB_STATE_CREATED' } };
    }
    const state = 'JOB_STATE_COMPLETED';
    const done = { body: { jobStatus: { jobId: 'job-1', did, state, blob: blob?.toJSON() } } };
    return (jobStatuses.length > 1 ? jobStatuses.shift() : jobStatuses[0]) ?? done;
  };
}

/** Forwards a request to the PDS. */
async function pass(
  { baseUrl }: Person,
  { url = '', method = 'GET', headers }: IncomingMessage,
  body: Buffer,
): Promise<Answer> {
  const { authorization, 'content-type': type } = headers;
  const answer = await fetch(baseUrl + url, {
    method,
    headers: {
      ...(authorization ? { authorization } : {}),
      ...(type ? { 'content-type': type } : {}),
    },
    ...(method === 'POST' && { body: new Uint8Array(body) }),
  });
  return { status: answer.status, body: await answer.json() };
}
