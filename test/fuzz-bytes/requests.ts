import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { animation, picture, video } from '../support/media-files.ts';
import type { Service } from '../hostile/service.ts';
import { near, type Property } from './property.ts';

type Request = {
  readonly method: string;
  readonly path: string;
  readonly contentType: string;
  readonly encoding: string | undefined;
  readonly body: Buffer;
};

/** Each request must get an answer in our own format that is not a server error. */
async function assertAnswer({ api, target }: Service, request: Request): Promise<void> {
  const response = await fetch(`${api.url}/api/v1${request.path}`, {
    method: request.method,
    body: new Uint8Array(request.body),
    headers: {
      authorization: `Bearer ${target.attacker.key}`,
      'content-type': request.contentType,
      ...(request.encoding && { 'content-encoding': request.encoding }),
    },
    signal: AbortSignal.timeout(60_000),
  });
  const answer = await response.text();
  const isOurs = response.status >= 400 ? typeof JSON.parse(answer).code === 'string' : true;
  if (response.status >= 500 || !isOurs) {
    throw new Error(`answered with ${response.status}: ${answer.slice(0, 300)}`);
  }
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** Valid and nearly valid bodies. */
const goodBodies = (channels: readonly string[]): Buffer[] => [
  json({ body: 'Hello 👋', channel_ids: channels.slice(0, 2), schedule_in_minutes: 60 }),
  json({ thread: ['One', 'Two'], channel_ids: channels, scheduled_at: '2027-01-01T00:00:00Z' }),
  json({ body: 'Hi', channel_bodies: Object.fromEntries(channels.map((id) => [id, 'own'])) }),
  json({ body: 'Hi', media_ids: ['019a0000-0000-7000-8000-000000000000'], media_urls: [] }),
  json({ body: 'Hi', video: { title: 'T', privacy: 'private', tags: ['a'] } }),
];

function jsonRequests({ target }: Service): fc.Arbitrary<Request> {
  const bodies = fc.oneof(
    { weight: 4, arbitrary: near(...goodBodies(target.channels)) },
    fc.json({ maxDepth: 4 }).map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 300 }).map((raw) => Buffer.from(raw)),
  );
  return fc
    .record({
      method: fc.constantFrom('POST', 'PATCH'),
      path: fc.constantFrom(
        '/posts',
        '/posts/validate',
        '/posts/019a0000-0000-7000-8000-000000000000',
      ),
      contentType: fc.constantFrom(
        'application/json',
        'application/json; charset=utf-8',
        'application/json; charset=utf-16',
        'application/json; charset="',
        'text/plain',
      ),
      encoding: fc.constantFrom(undefined, undefined, 'gzip', 'br', 'identity', 'gzip, gzip'),
      body: bodies,
      isPacked: fc.boolean(),
    })
    .map(({ method, path, contentType, encoding, body: bytes, isPacked }) => {
      const body = isPacked && encoding === 'gzip' ? gzipSync(bytes) : bytes;
      return { method, path, contentType, encoding, body };
    });
}

const partOf = (content: Uint8Array, head: string): Buffer =>
  Buffer.concat([Buffer.from(`--b\r\n${head}\r\n\r\n`), content, Buffer.from('\r\n--b--\r\n')]);

const heads = [
  'content-disposition: form-data; name="file"; filename="a.png"\r\ncontent-type: image/png',
  'content-disposition: form-data; name="file"; filename*=UTF-8\'\'%e2%82%ac.png',
  'Content-Disposition: form-data; name=file; filename=a.png\r\ncontent-transfer-encoding: 8bit',
];

const upload = (body: Buffer): Request => ({
  method: 'POST',
  path: '/media',
  contentType: 'multipart/form-data; boundary=b',
  encoding: undefined,
  body,
});

/** Requests of all kinds to an API process. */
export async function requestProperties(service: Service): Promise<Property[]> {
  const small = await picture('png', { width: 2, height: 2 });
  const multipart = near(...heads.map((head) => partOf(small, head)));
  const files = await Promise.all([
    picture('png'),
    picture('jpeg'),
    picture('webp'),
    picture('gif'),
    animation('gif', [100, 100]),
    animation('webp', [100, 100]),
    video('mp4'),
    video('mov'),
    video('webm'),
  ]);
  const media = near(...files).map((content) => partOf(content, heads[0] ?? ''));
  const holds = (requests: fc.Arbitrary<Request>): Property['check'] =>
    fc.asyncProperty(requests, (request) => assertAnswer(service, request));
  return [
    { name: 'JSON bodies, in every encoding', check: holds(jsonRequests(service)) },
    { name: 'multipart bodies', check: holds(multipart.map(upload)) },
    { name: 'pictures and videos', check: holds(media.map(upload)) },
  ];
}
