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

/** Servers that never come to the end of their answer's head, by what they send instead. */
export const neverEnding: Readonly<Record<string, (socket: Socket) => void>> = {
  'nothing at all': () => {},
  'headers without end': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    const timer = setInterval(() => socket.write('a: b\r\n'), 20);
    socket.on('close', () => clearInterval(timer));
  },
  'early hints without end': (socket) => {
    const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 20);
    socket.on('close', () => clearInterval(timer));
  },
};

/** A server like one of those; `asked` resolves once it has a request, `left` when it is alone. */
export async function silentServer(t: ExecutionContext, serve: (socket: Socket) => void) {
  const [asked, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const server = await rawServer(t, (socket) => {
    socket.once('data', () => asked.resolve()).on('close', () => left.resolve());
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
