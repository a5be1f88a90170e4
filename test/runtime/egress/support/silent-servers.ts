import type { Socket } from 'node:net';
import type { ExecutionContext } from 'ava';
import { rawServer } from './servers.ts';

/**
 * Stops the clock: a time is up when the test says so, which is when what it is about has happened, however fast the
 * machine is. Timers are the process's, so such tests run one after the other. (Those of `node:test` cannot `refresh()`.)
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
  /** Resolves when so many bytes have come at the other end. */
  readonly came: (bytes: number) => Promise<void>;
  readonly pass: (ms: number) => void;
};

/**
 * Lets a stopped clock go on to 1 ms before this limit, a multiple of 3, and sends a drop before each third of the way.
 * A time that starts again with each drop is then far from its end, and one that does not is up with the next ms.
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
  /** What it sends again and again; see `dripUntil`. */
  readonly drop: string;
};

/** Servers that never come to the end of their answer's head, by what they send instead. */
export const neverEnding: Readonly<Record<string, Silent>> = {
  'nothing at all': { serve: () => {}, drop: '' },
  'headers without end': {
    serve: (socket) => socket.write('HTTP/1.1 200 OK\r\n'),
    drop: 'a: b\r\n',
  },
  'early hints without end': { serve: () => {}, drop: 'HTTP/1.1 103 Early Hints\r\n\r\n' },
};

/** A server that does this; `asked` has the connection once it has a request, `left` resolves when it is alone. */
export async function silentServer(t: ExecutionContext, serve: Silent['serve']) {
  const [asked, left] = [Promise.withResolvers<Socket>(), Promise.withResolvers<void>()];
  const server = await rawServer(t, (socket) => {
    socket.once('data', () => asked.resolve(socket)).on('close', () => left.resolve());
    serve(socket);
  });
  return { server, asked: asked.promise, left: left.promise };
}

/** A server that answers a request with this and waits; the socket comes once it has answered. */
export async function answeringServer(t: ExecutionContext, text: string) {
  const answered = Promise.withResolvers<Socket>();
  const server = await rawServer(t, (socket) => {
    socket.once('data', () => socket.write(text, () => answered.resolve(socket)));
  });
  return { server, answered: answered.promise };
}
