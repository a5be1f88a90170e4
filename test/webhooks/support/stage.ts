import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { ExecutionContext } from 'ava';
import type { Answer } from './answers.ts';
import { readRequests, type Arrived } from './read-requests.ts';

export type StagedReceiver = {
  readonly url: string;
  /** The requests that came, whole, in order. */
  readonly arrived: readonly Arrived[];
  /** What the next requests get. */
  answer: Answer;
  /** Resolves with the nth request, counted from 1. */
  nth(n: number): Promise<Arrived>;
};

/** Receivers of a whole file of tests, on one real socket: each has a path of its own. */
export type Stage = {
  readonly port: number;
  readonly receiver: (answer?: Answer) => StagedReceiver;
};

type Staged = StagedReceiver & { readonly arrived: Arrived[] };

const nothing: Answer = () => undefined;

/** Opens a server that reads HTTP by itself, so that tests see the bytes and answer with any. */
export async function openStage(scope: ExecutionContext): Promise<Stage> {
  const receivers = new Map<string, Staged>();
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => open.delete(socket));
    readRequests(socket, (request) => {
      const receiver = receivers.get(request.path);
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
      const receiver: Staged = {
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
      receivers.set(path, receiver);
      return receiver;
    },
  };
}
