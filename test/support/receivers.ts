import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { ExecutionContext } from 'ava';
import type { Answer } from './answers.ts';

/** A request as received, byte for byte. */
export type Arrived = {
  readonly path: string;
  /** The lines of its head. */
  readonly lines: readonly string[];
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  /** The bytes as UTF-8. */
  readonly body: string;
};

/** A webhook receiver with its own path. */
export type TestReceiver = {
  readonly url: string;
  /** The complete requests, in order. */
  readonly arrived: readonly Arrived[];
  /** The answer to the next requests. */
  answer: Answer;
  /** Resolves with the nth request, counted from 1. */
  nth(n: number): Promise<Arrived>;
};

/** Receivers for a whole test file, on one real socket. */
export type Receivers = {
  readonly port: number;
  /** Makes a receiver. @param answer Without one, requests get no answer. */
  readonly receiver: (answer?: Answer) => TestReceiver;
};

type Receiving = TestReceiver & { readonly arrived: Arrived[] };

const nothing: Answer = () => undefined;

/** Opens a server with its own HTTP parser, so that tests see the exact bytes and can answer with any. */
export async function openReceivers(scope: ExecutionContext): Promise<Receivers> {
  const byPath = new Map<string, Receiving>();
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => open.delete(socket));
    readRequests(socket, (request) => {
      const receiver = byPath.get(request.path);
      receiver?.arrived.push(request);
      receiver?.answer(socket, receiver.arrived.length);
      server.emit('arrived');
    });
  });
  server.listen(0, '127.0.0.1').setMaxListeners(0);
  await once(server, 'listening');
  scope.teardown(async () => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of open) {
      socket.destroy();
    }

    await closed;
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    receiver: (answer = nothing) => {
      const path = `/hook/${crypto.randomUUID()}`;
      const receiver: Receiving = {
        url: `http://127.0.0.1:${port}${path}`,
        arrived: [],
        answer,
        nth: async (n) => {
          while (receiver.arrived.length < n) {
            await once(server, 'arrived', { signal: AbortSignal.timeout(120_000) });
          }

          return receiver.arrived[n - 1] as Arrived;
        },
      };
      byPath.set(path, receiver);
      return receiver;
    },
  };
}

/** Reads a connection's requests, one after the other. Node's own server would hide their exact bytes. */
export function readRequests(socket: Socket, take: (request: Arrived) => void): void {
  let pending = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    for (let next = readOne(pending); next !== null; next = readOne(pending)) {
      pending = pending.subarray(next.length);
      take(next.request);
    }
  });
}

/** @returns null while the request is incomplete. */
function readOne(pending: Buffer): { request: Arrived; length: number } | null {
  const headLength = pending.indexOf('\r\n\r\n');
  if (headLength === -1) {
    return null;
  }

  const lines = pending.toString('latin1', 0, headLength).split('\r\n');
  const headers = Object.fromEntries(lines.slice(1).map(nameAndValue));
  const length = headLength + 4 + Number(headers['content-length'] ?? 0);
  if (pending.length < length) {
    return null;
  }

  const bytes = pending.subarray(headLength + 4, length);
  const path = lines[0]?.split(' ')[1] ?? '';
  return { length, request: { path, lines, headers, bytes, body: bytes.toString('utf8') } };
}

function nameAndValue(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}
