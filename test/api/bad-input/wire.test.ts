import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import Koa from 'koa';
import { allRoutes, JoinedRequest } from '../../../api/app.ts';
import { readText } from '../../../api/http/read-body.ts';
import type { AppError } from '../../../domain/errors.ts';
import type { Reply } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { newOperator } from '../../support/operator.ts';
import { poll } from '../../support/poll.ts';
import { rawCall } from '../../support/raw-call.ts';
import { storedRows } from '../../support/stored-rows.ts';
import { statuses } from './refuse.ts';

const api = sharedApi(test);

const json = 'Content-Type: application/json';

/** A workspace with a key, and a check that a request stored nothing. */
async function workspace(t: ExecutionContext) {
  const { key, workspaceId } = await api.newClient();
  const rows = () => storedRows(api.punctual.orm, workspaceId);
  const before = await rows();
  const nothingStored = async () => t.deepEqual(await rows(), before);
  const create = (body: NonNullable<RequestInit['body']>, encoding = 'identity'): Promise<Reply> =>
    rawCall(`${api.punctual.url}/api/v1/posts`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'content-encoding': encoding,
      },
      body,
    });
  return { key, auth: `Authorization: Bearer ${key}`, rows, nothingStored, create };
}

/** A request as bytes. */
const request = (start: string, headers: readonly string[], body = ''): string =>
  [`${start} HTTP/1.1`, 'Host: api', 'Connection: close', ...headers, '', body].join('\r\n');

const post = '{"body":"x"}';
const length = `Content-Length: ${post.length}`;

type Wire = readonly [title: string, bytes: string, code: keyof typeof statuses];

const posting = (headers: readonly string[], body = post): string =>
  request('POST /api/v1/posts', headers, body);

const broken = (auth: string): readonly Wire[] => [
  ['TRACE', request('TRACE /api/v1/posts', [auth]), 'method_not_allowed'],
  ['PUT', request('PUT /api/v1/posts', [auth, json, length], post), 'method_not_allowed'],
  ['MOVE', request('MOVE /api/v1/me', [auth]), 'method_not_allowed'],
  ['an unknown method', request('FETCH /api/v1/me', [auth]), 'invalid_request'],
  ['a method in lower case', request('get /api/v1/me', [auth]), 'invalid_request'],
  ['an invalid URL', request('GET http://[::1/', [auth]), 'invalid_request'],
  ['a URL of another scheme', request('GET redis://localhost', [auth]), 'not_found'],
  ['101 headers', request('GET /api/v1/me', [auth, ...Array(98).fill('X: 1')]), 'invalid_request'],
  ['not HTTP', 'hello\r\n\r\n', 'invalid_request'],
  ['a text for Content-Length', posting([auth, json, 'Content-Length: many']), 'invalid_request'],
  ['a negative Content-Length', posting([auth, json, 'Content-Length: -1']), 'invalid_request'],
  ['two Content-Lengths', posting([auth, json, length, 'Content-Length: 5']), 'invalid_request'],
  [
    'Content-Length beside chunks',
    posting([auth, json, length, 'Transfer-Encoding: chunked'], `c\r\n${post}\r\n0\r\n\r\n`),
    'invalid_request',
  ],
  ['a Content-Length that cuts', posting([auth, json, 'Content-Length: 5']), 'invalid_request'],
  [
    'a chunk without a size',
    posting([auth, json, 'Transfer-Encoding: chunked'], `x\r\n${post}\r\n0\r\n\r\n`),
    'invalid_request',
  ],
  [
    'a chunk longer than its size',
    posting([auth, json, 'Transfer-Encoding: chunked'], `2\r\n${post}\r\n0\r\n\r\n`),
    'invalid_request',
  ],
  [
    'chunks without JSON',
    posting([auth, json, 'Transfer-Encoding: chunked'], '3\r\n{"b\r\n0\r\n\r\n'),
    'invalid_request',
  ],
  ['NUL in a header', posting([auth, json, length, 'Idempotency-Key: a\0b']), 'invalid_request'],
  ['BEL in a header', posting([auth, json, length, 'Idempotency-Key: a\x07']), 'invalid_request'],
  ['a header without a name', posting([auth, json, length, ': x']), 'invalid_request'],
  ['a space in a name', posting([auth, json, length, 'X Y: z']), 'invalid_request'],
  ['no content type', posting([auth, length]), 'unsupported_media_type'],
  ['an empty content type', posting([auth, 'Content-Type:', length]), 'unsupported_media_type'],
];

test('malformed HTTP is refused with the usual error body, and stores nothing', async (t) => {
  const { auth, nothingStored } = await workspace(t);
  const faults: string[] = [];
  for (const [title, bytes, code] of broken(auth)) {
    const { status, text } = await rawSocket(bytes);
    const sound = status === statuses[code] && text.includes(`"code":"${code}"`);
    faults.push(...(sound ? [] : [`${title}: ${status} "${text}" instead of ${code}`]));
  }

  t.deepEqual(faults, []);
  await nothingStored();
});

test('a body of four thousand one-byte chunks is read, and one of twice as many ends its connection', async (t) => {
  const { auth, rows } = await workspace(t);
  const headers = [auth, json, 'Transfer-Encoding: chunked'];
  for (const [size, status] of [[4000, 201] as const, [8000, null] as const]) {
    const chunks = [...JSON.stringify({ body: 'x'.repeat(size) })].map(chunked).join('');
    t.is((await rawSocket(posting(headers, `${chunks}0\r\n\r\n`))).status, status);
  }

  t.is((await rows()).posts, 1);
});

test('tiny chunks that follow a refusal end its connection too', async (t) => {
  const socket = connect(Number(new URL(api.punctual.url).port)).on('error', () => undefined);
  const begun = posting([json, 'Transfer-Encoding: chunked'], chunked('x'));
  socket.write(begun.replace('Connection: close', 'Connection: keep-alive'));
  t.regex(String(await once(socket, 'data')), /^HTTP\/1\.1 401/v);
  const next = 'GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  socket.write(`${chunked('x').repeat(20_000)}0\r\n\r\n${next}`);
  t.notRegex(await textOf(socket).catch(String), /HTTP\/1\.1 200/v);
});

const chunked = (char: string): string => `1\r\n${char}\r\n`;

test('chunks that wait for their reader are joined, so that each takes no memory of its own', async (t) => {
  const counts = createServer({ IncomingMessage: JoinedRequest }, async (given, answer) => {
    await poll(() => given.complete, Boolean);
    const pieces: Buffer[] = [];
    given.on('data', (piece: Buffer) => pieces.push(piece));
    await once(given, 'end');
    answer.end(pieces.map(String).join('|'));
  });
  await once(counts.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => counts.close());
  const head =
    'POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n';
  const socket = connect((counts.address() as AddressInfo).port, '127.0.0.1');
  socket.write(`${head}${[...'one body'].map(chunked).join('')}0\r\n\r\n`);
  t.regex(await textOf(socket), /\r\none body(?:\r\n|$)/v);
});

test('headers that are too large are refused with the usual error body', async (t) => {
  const { auth, nothingStored } = await workspace(t);
  const large = posting([auth, json, length, `X-Large: ${'x'.repeat(100_000)}`]);
  const { status, text } = await rawSocket(large);
  t.true(status === 400 || status === 431, String(status));
  t.regex(text, /"error":"[^"]+","code":"invalid_request"/v);
  await nothingStored();
});

test('a client that hangs up in the middle of its body stores nothing, and the server continues', async (t) => {
  const { auth, key, nothingStored } = await workspace(t);
  // `Expect: 100-continue` shows when the server reads the body.
  const head = [auth, json, 'Expect: 100-continue'];
  const half: readonly [start: string, length: string, rest: string][] = [
    ['POST /api/v1/posts', 'Content-Length: 1000', post],
    ['POST /api/v1/posts', 'Transfer-Encoding: chunked', `c\r\n${post}\r\n`],
    ['POST /api/v1/posts', 'Transfer-Encoding: chunked', `ff\r\n${post}`],
    ['POST /api/v1/webhooks', 'Content-Length: 1000', '{"url":'],
  ];
  for (const [start, size, rest] of half) {
    t.is((await rawSocket(request(start, [...head, size]), rest)).status, 100);
  }

  const headers = { authorization: `Bearer ${key}` };
  t.is((await rawCall(`${api.punctual.url}/api/v1/me`, { headers })).status, 200);
  await nothingStored();
});

test('a compressed body is refused', async (t) => {
  const { create, nothingStored } = await workspace(t);
  for (const encoding of ['gzip', 'deflate', 'br', 'zstd', 'gzip, gzip', 'zip']) {
    const reply = await create(new Uint8Array(gzipSync(post)), encoding);
    t.is(reply.status, 415, encoding);
    t.is(reply.body.code, 'unsupported_media_type', encoding);
    t.regex(reply.body.error, /uncompressed/v);
  }

  await nothingStored();
});

test('exactly 1 MB is accepted, and a byte more is not', async (t) => {
  const { create, rows } = await workspace(t);
  const send = async (size: number): Promise<number> => {
    const thread = Array.from({ length: 6 }, () => 'x'.repeat(50_000));
    return (await create(JSON.stringify({ thread }).padEnd(size))).status;
  };
  t.is(await send(1024 * 1024), 201);
  t.is(await send(1024 * 1024 + 1), 413);
  t.is((await rows()).posts, 1);
});

test('an empty body in chunks is an empty body, in every call that needs none', async (t) => {
  const { key } = await api.newClient();
  const operator = await newOperator(api.punctual);
  const calls = allRoutes.filter(
    ({ method, body, isBodyOptional }) => method === 'post' && (!body || isBodyOptional),
  );
  t.true(calls.length > 5);
  for (const { path, isForOperators } of calls) {
    const auth = `Authorization: Bearer ${isForOperators ? operator.key : key}`;
    const start = `POST /api/v1${path.replaceAll(/\{\w+\}/gv, crypto.randomUUID())}`;
    for (const type of [[json], []]) {
      const headers = [auth, ...type, 'Transfer-Encoding: chunked'];
      const { status, text } = await rawSocket(request(start, headers, '0\r\n\r\n'));
      t.is(status, 404, `${path}: ${text}`); // What the call itself says of an unknown id.
    }
  }

  const none = request('POST /api/v1/posts', [
    `Authorization: Bearer ${key}`,
    'Transfer-Encoding: chunked',
  ]);
  t.regex((await rawSocket(`${none}0\r\n\r\n`)).text, /needs a JSON body/v);
});

test('a body that does not come within its time is refused', async (t) => {
  const app = new Koa();
  app.use(async (ctx) => {
    ctx.body = await readText(ctx, { most: 1000, withinMs: 50 }).catch(
      (error: AppError) => error.message,
    );
  });
  const server = app.listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const sent = httpRequest({
    port: (server.address() as AddressInfo).port,
    host: '127.0.0.1',
    method: 'POST',
  });
  t.teardown(() => sent.destroy());
  sent.write('{');
  const [answer] = await once(sent, 'response');
  t.is(await textOf(answer), 'The request body took longer than 0.05 s. Send it faster.');
});

test('a connection whose headers stay away is closed soon', async (t) => {
  t.timeout(120_000);
  const begunMs = Date.now();
  const { status } = await rawSocket('GET /livez HTTP/1.1\r\nHost: api\r\n');
  t.is(status, 408);
  t.true(Date.now() - begunMs < 45_000);
});

/**
 * Sends raw bytes over a new socket and reads the response until the server closes it. For requests that no HTTP
 * client sends.
 *
 * @param rest Sent after the response has begun; the socket is then closed, as by a client that hangs up.
 * @returns a null status when the connection ended without a response.
 */
async function rawSocket(bytes: string, rest?: string) {
  const { hostname, port } = new URL(api.punctual.url);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('error', () => undefined); // A reset also ends the response.
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(Buffer.from(bytes, 'latin1'));
  if (rest !== undefined) {
    await Promise.race([once(socket, 'data'), closed]);
    socket.write(rest, () => socket.destroy());
  }

  await closed;
  const [head = '', ...body] = Buffer.concat(chunks).toString('utf8').split('\r\n\r\n');
  const status = /^HTTP\/1\.1 (?<status>\d{3})/v.exec(head)?.groups?.['status'];
  return { status: status === undefined ? null : Number(status), text: body.join('\r\n\r\n') };
}
