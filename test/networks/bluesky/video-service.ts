import type { BlobRef } from '@atproto/api';
import type { ExecutionContext } from 'ava';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { connected } from './bench.ts';

type Answer = { readonly status?: number; readonly body: unknown };

/** What the service answers in place of doing it, by its method's last name. The last one stays. */
export type ServiceAnswers = {
  readonly getUploadLimits?: Answer;
  readonly uploadVideo?: Answer;
  readonly getJobStatus?: readonly Answer[];
};

/** What the service adds to a video, so that its result has another name: an empty box of an MP4. */
const emptyBox = Buffer.from('0000000866726565', 'hex');

export const processed = (video: Buffer): Buffer => Buffer.concat([video, emptyBox]);

type Person = Awaited<ReturnType<typeof connected>>['person'];

/**
 * Puts a video service before an account's PDS, at the same address.
 *
 * It puts its results on the PDS by the account's own session, and checks what the tokens say that it gets: the PDS of
 * tests cannot look up the key of such a token, as the directory has no name.
 *
 * @param seen The methods that were called.
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
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

function playService(t: ExecutionContext, { agent, did }: Person, answers: ServiceAnswers) {
  const looks = [...(answers.getJobStatus ?? [])];
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
    return (looks.length > 1 ? looks.shift() : looks[0]) ?? done;
  };
}

/** What the PDS answers. */
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
