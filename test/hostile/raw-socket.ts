import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export type RawSocket = {
  readonly socket: Socket;
  /** Everything received so far. */
  readonly answer: () => string;
  /** Resolves when the other side closes it, with milliseconds since its opening; with null after `withinMs`. */
  readonly closedAfter: (withinMs: number) => Promise<number | null>;
};

/** Opens a connection to the service, for requests that no HTTP client would send. */
export async function openSocket(url: string): Promise<RawSocket> {
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
export const headOf = (method: string, path: string, headers: readonly string[]): string =>
  `${[`${method} ${path} HTTP/1.1`, 'host: punctual.example', ...headers].join('\r\n')}\r\n\r\n`;
