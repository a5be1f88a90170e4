import type { Socket } from 'node:net';
import type { ExecutionContext } from 'ava';
import { rawServer } from './servers.ts';

/**
 * Stops the clock: timers fire only when the test advances it, which does not depend on the machine's speed. Timers
 * belong to the process, so such tests are serial. (The timers of `node:test` do not support `refresh()`.)
 */
export function stopClock(t: ExecutionContext): { readonly pass: (ms: number) => void } {
  const { setTimeout, clearTimeout } = globalThis;
  t.teardown(() => Object.assign(globalThis, { setTimeout, clearTimeout }));
  const waiting = new Set<StoppedTimer>();
  let nowMs = 0;
  const start = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): StoppedTimer => {
    const timer: StoppedTimer = {
      dueMs: nowMs + ms,
      run: () => run(...args),
      refresh() {
        timer.dueMs = nowMs + ms;
        waiting.add(timer);
        return timer;
      },
      ref: () => timer,
      unref: () => timer,
    };
    waiting.add(timer);
    return timer;
  };
  const stop = (timer: StoppedTimer) => waiting.delete(timer) || clearTimeout(timer as never);
  Object.assign(globalThis, { setTimeout: start, clearTimeout: stop });
  return {
    pass(ms) {
      nowMs += ms;
      for (const timer of waiting) {
        if (timer.dueMs <= nowMs) {
          waiting.delete(timer);
          timer.run();
        }
      }
    },
  };
}

type StoppedTimer = {
  dueMs: number;
  readonly run: () => void;
  readonly refresh: () => StoppedTimer;
  readonly ref: () => StoppedTimer;
  readonly unref: () => StoppedTimer;
};

type Drip = {
  /** The server's end of the connection. */
  readonly socket: Socket;
  readonly drop: string;
  /** Resolves when this many bytes have arrived at the other end. */
  readonly came: (bytes: number) => Promise<void>;
  readonly pass: (ms: number) => void;
};

/**
 * Advances a stopped clock to 1 ms before this limit, a multiple of 3, and sends a drop before each third. A timer that
 * restarts with each drop is then far from its end; one that does not fires with the next ms.
 */
export async function dripUntil(limitMs: number, { socket, drop, came, pass }: Drip) {
  for (const ms of [limitMs / 3, limitMs / 3, limitMs / 3 - 1]) {
    socket.write(drop);
    await came(socket.bytesWritten);
    pass(ms);
  }
}

type Silent = {
  readonly serve: (socket: Socket) => void;
  /** The bytes that it sends repeatedly; see `dripUntil`. */
  readonly drop: string;
};

/** Servers that never complete the head of their answer, named after the bytes that they do send. */
export const neverEnding: Readonly<Record<string, Silent>> = {
  'nothing at all': { serve: () => {}, drop: '' },
  'headers without end': {
    serve: (socket) => socket.write('HTTP/1.1 200 OK\r\n'),
    drop: 'a: b\r\n',
  },
  'early hints without end': { serve: () => {}, drop: 'HTTP/1.1 103 Early Hints\r\n\r\n' },
};

/** A silent server. `asked` resolves with the connection of its request, `left` when the connection has closed. */
export async function silentServer(t: ExecutionContext, serve: Silent['serve']) {
  const [asked, left] = [Promise.withResolvers<Socket>(), Promise.withResolvers<void>()];
  const server = await rawServer(t, (socket) => {
    socket.once('data', () => asked.resolve(socket)).on('close', () => left.resolve());
    serve(socket);
  });
  return { server, asked: asked.promise, left: left.promise };
}

/** A server that answers a request with this text and waits. The socket resolves once it has answered. */
export async function answeringServer(t: ExecutionContext, text: string) {
  const answered = Promise.withResolvers<Socket>();
  const server = await rawServer(t, (socket) => {
    socket.once('data', () => socket.write(text, () => answered.resolve(socket)));
  });
  return { server, answered: answered.promise };
}
