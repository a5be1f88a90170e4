import { must, type Attack } from '../attack.ts';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

type RawSocket = {
  readonly socket: Socket;
  /** Everything received so far. */
  readonly answer: () => string;
  /** Resolves when the other side closes it, with milliseconds since its opening; with null after `withinMs`. */
  readonly closedAfter: (withinMs: number) => Promise<number | null>;
};

/** Opens a connection to the service, for requests that no HTTP client would send. */
async function openSocket(url: string): Promise<RawSocket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.on('error', () => undefined).on('data', (chunk) => (answer += chunk.toString('latin1')));
  const beganMs = performance.now();
  const closed = new Promise<number>((resolve) => {
    socket.once('close', () => resolve(performance.now() - beganMs));
  });
  await once(socket, 'connect');
  return {
    socket,
    answer: () => answer,
    closedAfter: async (withinMs) => {
      const timeout = AbortSignal.timeout(withinMs);
      const late = once(timeout, 'abort').then(() => null);
      return Promise.race([closed, late]);
    },
  };
}

/** The head of a request, with the blank line after it. */
const headOf = (method: string, path: string, headers: readonly string[]): string =>
  `${[`${method} ${path} HTTP/1.1`, 'host: punctual.example', ...headers].join('\r\n')}\r\n\r\n`;

const json = ['content-type: application/json'];

/** In milliseconds. */
const patienceMs = 60_000;

/** Bytes that are not one request. */
const garbage: Readonly<Record<string, string>> = {
  'bytes that are not HTTP': '\u0000\u0001\u0002'.repeat(1000),
  'a TLS handshake': '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003',
  'a length and chunks at once': `${headOf('POST', '/api/v1/posts', ['content-length: 4', 'transfer-encoding: chunked', ...json])}0\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n`,
  'two lengths': `${headOf('POST', '/api/v1/posts', ['content-length: 4', 'content-length: 40', ...json])}{}{}`,
  'a chunk of a negative size': `${headOf('POST', '/api/v1/posts', ['transfer-encoding: chunked', ...json])}-1\r\n{}\r\n0\r\n\r\n`,
  'a chunk with 20 kB of extensions': `${headOf('POST', '/api/v1/posts', ['transfer-encoding: chunked', ...json])}2;${'a=b;'.repeat(5000)}\r\n{}\r\n0\r\n\r\n`,
  'a header of 100 kB': headOf('GET', '/healthz', [`x-note: ${'a'.repeat(100_000)}`]),
  'ten thousand headers': headOf(
    'GET',
    '/healthz',
    Array.from({ length: 10_000 }, (_, n) => `x${n}: 1`),
  ),
  'a path of 100 kB': headOf('GET', `/${'a'.repeat(100_000)}`, []),
  'a thousand requests at once': headOf('GET', '/healthz', []).repeat(1000),
  'an unknown method': headOf('BREW', '/api/v1/posts', []),
};

export const connectionAttacks = Object.entries(garbage).map(([name, bytes]): Attack => ({
  name: `HTTP: ${name}`,
  run: async ({ url }) => {
    const { socket, answer, closedAfter } = await openSocket(url);
    socket.write(bytes, 'latin1');
    const closed = await Promise.race([closedAfter(patienceMs), untilAnswered(answer)]);
    socket.destroy();
    return [
      ...must(closed !== null, 'is neither answered nor closed'),
      ...must(!/^HTTP\/1\.1 (?:2|5)/v.test(answer()), `answered with ${answer().slice(0, 30)}`),
    ];
  },
}));

async function untilAnswered(answer: () => string): Promise<number> {
  while (!answer().startsWith('HTTP/1.1 ')) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }

  return 0;
}
