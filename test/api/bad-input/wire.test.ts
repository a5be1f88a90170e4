import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { newClient } from '../../support/client.ts';
import { poll } from '../../support/poll.ts';
import { startApi } from '../../support/punctual.ts';
import { rawCall } from '../../support/raw-call.ts';
import { storedRows } from '../../support/stored-rows.ts';
import { rawSocket } from './raw-socket.ts';
import { statuses } from './refuse.ts';

const json = 'Content-Type: application/json';

async function world(t: ExecutionContext) {
  const punctual = await startApi(t);
  const { key } = await newClient(punctual);
  const auth = `Authorization: Bearer ${key}`;
  const before = await storedRows(punctual.orm);
  const nothingStored = async (): Promise<void> => {
    t.deepEqual(await storedRows(punctual.orm), before);
  };
  return { punctual, key, auth, nothingStored };
}

/** A request as it goes over the wire. */
const request = (start: string, headers: readonly string[], body = ''): string =>
  [`${start} HTTP/1.1`, 'Host: api', 'Connection: close', ...headers, '', body].join('\r\n');

const post = '{"body":"x"}';
const length = `Content-Length: ${post.length}`;

type Wire = readonly [title: string, bytes: string, code: keyof typeof statuses];

const create = (headers: readonly string[], body = post): string =>
  request('POST /api/v1/posts', headers, body);

const broken = (auth: string): readonly Wire[] => [
  ['TRACE', request('TRACE /api/v1/posts', [auth]), 'method_not_allowed'],
  ['PUT', request('PUT /api/v1/posts', [auth, json, length], post), 'method_not_allowed'],
  ['MOVE', request('MOVE /api/v1/me', [auth]), 'method_not_allowed'],
  ['an unknown method', request('FETCH /api/v1/me', [auth]), 'invalid_request'],
  ['a method in lower case', request('get /api/v1/me', [auth]), 'invalid_request'],
  ['no HTTP at all', 'hello\r\n\r\n', 'invalid_request'],
  ['a text for Content-Length', create([auth, json, 'Content-Length: many']), 'invalid_request'],
  ['a negative Content-Length', create([auth, json, 'Content-Length: -1']), 'invalid_request'],
  ['two Content-Lengths', create([auth, json, length, 'Content-Length: 5']), 'invalid_request'],
  [
    'Content-Length beside chunks',
    create([auth, json, length, 'Transfer-Encoding: chunked'], `c\r\n${post}\r\n0\r\n\r\n`),
    'invalid_request',
  ],
  ['a Content-Length that cuts', create([auth, json, 'Content-Length: 5']), 'invalid_request'],
  [
    'a chunk without a size',
    create([auth, json, 'Transfer-Encoding: chunked'], `x\r\n${post}\r\n0\r\n\r\n`),
    'invalid_request',
  ],
  [
    'a chunk longer than it says',
    create([auth, json, 'Transfer-Encoding: chunked'], `2\r\n${post}\r\n0\r\n\r\n`),
    'invalid_request',
  ],
  [
    'chunks without JSON',
    create([auth, json, 'Transfer-Encoding: chunked'], '3\r\n{"b\r\n0\r\n\r\n'),
    'invalid_request',
  ],
  ['NUL in a header', create([auth, json, length, 'Idempotency-Key: a\0b']), 'invalid_request'],
  ['a bell in a header', create([auth, json, length, 'Idempotency-Key: a\x07']), 'invalid_request'],
  ['a header without a name', create([auth, json, length, ': x']), 'invalid_request'],
  ['a space in a name', create([auth, json, length, 'X Y: z']), 'invalid_request'],
  ['no content type', create([auth, length]), 'unsupported_media_type'],
  ['an empty content type', create([auth, 'Content-Type:', length]), 'unsupported_media_type'],
  [
    'an unknown packing',
    create([auth, json, length, 'Content-Encoding: zip']),
    'unsupported_media_type',
  ],
  ['no packing', create([auth, json, length, 'Content-Encoding: gzip']), 'invalid_request'],
];

const credentials = (key: string): readonly string[] => [
  `Authorization: Bearer\t${key}`,
  `Authorization: Bearer${key}`,
  `Authorization: Bearer: ${key}`,
  `Authorization: ${key}`,
  `Authorization: Bearer ${key} x`,
  `Authorization: Bearer ${key}\u00e9`,
  `Authorization: Bearer \u00e9\u00ff`,
  `Authorization: Bearer ${key}, Bearer ${key}`,
  `Authorization: Bearer x\r\nAuthorization: Bearer ${key}`,
  `Authorization: Basic ${Buffer.from(`api:${key}`).toString('base64')}`,
  `Authorization: Digest username="${key}"`,
  'Authorization:',
  `X-Api-Key: ${key}`,
  `Cookie: authorization=${key}`,
  `Proxy-Authorization: Bearer ${key}`,
];

test('what is wrong on the wire is refused in the one shape of errors, and stores nothing', async (t) => {
  const { punctual, auth, key, nothingStored } = await world(t);
  const wrongKeys = credentials(key).map((line): Wire => {
    return [line, create([line, json, length]), 'unauthorized'];
  });
  const faults: string[] = [];
  for (const [title, bytes, code] of [...broken(auth), ...wrongKeys]) {
    const { status, text } = await rawSocket(punctual.url, bytes);
    const sound = status === statuses[code] && text.includes(`"code":"${code}"`);
    faults.push(...(sound ? [] : [`${title}: ${status} "${text}" instead of ${code}`]));
  }

  t.deepEqual(faults, []);
  await nothingStored();
});

test('headers beyond all measure are refused in the one shape of errors', async (t) => {
  const { punctual, auth, nothingStored } = await world(t);
  const large = create([auth, json, length, `X-Large: ${'x'.repeat(100_000)}`]);
  const { status, text } = await rawSocket(punctual.url, large);
  t.true(status === 400 || status === 431, String(status));
  t.regex(text, /"error":"[^"]+","code":"invalid_request"/v);
  await nothingStored();
});

test('a client that goes away in the middle of its body leaves nothing behind, and the server goes on', async (t) => {
  const { punctual, auth, key, nothingStored } = await world(t);
  const half = [
    create([auth, json, 'Content-Length: 1000']),
    create([auth, json, 'Transfer-Encoding: chunked'], `c\r\n${post}\r\n`),
    create([auth, json, 'Transfer-Encoding: chunked'], `ff\r\n${post}`),
    request('POST /api/v1/webhooks', [auth, json, 'Content-Length: 1000'], '{"url":'),
  ];
  for (const bytes of half) {
    t.is((await rawSocket(punctual.url, bytes, { hangUpAfterMs: 100 })).status, null);
  }

  await nothingStored();
  const headers = { authorization: `Bearer ${key}` };
  t.is((await rawCall(`${punctual.url}/api/v1/me`, { headers })).status, 200);
});

/** 1 GB of zeros, packed: gzip takes several packages one after the other. */
const bombs = (): [string, Buffer][] => {
  const zeros = Buffer.alloc(16 * 1024 * 1024);
  const member = gzipSync(zeros);
  const quick = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
  const large = Buffer.alloc(256 * 1024 * 1024);
  return [
    ['gzip', Buffer.concat(Array.from({ length: 64 }, () => member))],
    ['deflate', deflateSync(large, { level: 1 })],
    ['br', brotliCompressSync(large, quick)],
  ];
};

test('a small body that unpacks to 1 GB is refused before it fills the memory', async (t) => {
  const { punctual, key, nothingStored } = await world(t);
  const packed = bombs();
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 5);
  for (const [encoding, bytes] of packed) {
    t.true(bytes.length < 2 * 1024 * 1024, `${encoding}: ${bytes.length}`);
    const reply = await rawCall(`${punctual.url}/api/v1/posts`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'content-encoding': encoding,
      },
      body: new Uint8Array(bytes),
    });
    t.is(reply.status, 413, encoding);
    t.is(reply.body.code, 'payload_too_large', encoding);
  }

  clearInterval(watch);
  const grownMb = (most - before) / 1024 ** 2;
  t.log(`grew by ${Math.round(grownMb)} MB`);
  t.true(grownMb < 100, `${grownMb} MB`);
  await nothingStored();
});

test('packed twice, or packed as something else, is refused', async (t) => {
  const { punctual, key, nothingStored } = await world(t);
  const cases: readonly [string, Buffer, number][] = [
    ['gzip, gzip', gzipSync(gzipSync(post)), 415],
    ['br', gzipSync(post), 400],
    ['gzip', gzipSync(post).subarray(0, 15), 400],
    ['compress', Buffer.from(post), 415],
  ];
  for (const [encoding, bytes, status] of cases) {
    const reply = await rawCall(`${punctual.url}/api/v1/posts`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'content-encoding': encoding,
      },
      body: new Uint8Array(bytes),
    });
    t.is(reply.status, status, `${encoding}: ${JSON.stringify(reply.body)}`);
  }

  await nothingStored();
});

test('1 MB exactly is taken, and a byte more is not', async (t) => {
  const { punctual, key } = await world(t);
  const send = async (size: number): Promise<number> => {
    const frame = '{"body":""}'.length;
    const reply = await rawCall(`${punctual.url}/api/v1/posts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: `{"body":"${'x'.repeat(size - frame)}"}`,
    });
    return reply.status;
  };
  t.is(await send(1024 * 1024), 201);
  t.is(await send(1024 * 1024 + 1), 413);
  const stored = await poll(
    () => storedRows(punctual.orm),
    ({ posts }) => posts === 1,
  );
  t.is(stored['posts'], 1);
});
