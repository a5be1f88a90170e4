import type { Socket } from 'node:net';

/** Does with the connection what it likes, once a whole request is there. @param n Which of its receiver, from 1. */
export type Answer = (socket: Socket, n: number) => void;

/** These bytes, and the connection stays open. */
export const saying =
  (bytes: string | Buffer): Answer =>
  (socket) => {
    socket.write(bytes);
  };

/** These bytes, and then no more. */
export const sayingLast =
  (bytes: string | Buffer): Answer =>
  (socket) => {
    socket.end(bytes);
  };

/** An answer without a body. */
export function status(code: number, headers: Readonly<Record<string, string>> = {}): Answer {
  const length = code === 204 || code === 304 ? {} : { 'content-length': '0' };
  const lines = Object.entries({ ...headers, ...length }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return saying([`HTTP/1.1 ${code} Said`, ...lines, '', ''].join('\r\n'));
}

/** One answer after the other; the last one again and again. */
export const inTurn =
  (...answers: readonly Answer[]): Answer =>
  (socket, n) =>
    (answers[n - 1] ?? answers.at(-1))?.(socket, n);

export type Held = {
  readonly answer: Answer;
  /** How many requests have no answer yet, and whose connection is open. */
  readonly waiting: () => number;
  /** The most that waited at a time. */
  readonly most: () => number;
  /** How many connections ended before they had an answer. */
  readonly lost: () => number;
  /** Answers what waits, and from now on everything, like this. */
  readonly release: (answer: Answer) => void;
};

/** Long enough that requests at the same time are seen to be, in milliseconds. */
const thinkingMs = 8;

/** A receiver that takes requests and answers none until the test lets it. */
export function held(): Held {
  const waiting = new Map<Socket, number>();
  const known = new WeakSet<Socket>();
  const so = { most: 0, lost: 0 };
  let released: Answer | undefined;
  const think = (socket: Socket): void => {
    setTimeout(() => {
      const n = waiting.get(socket);
      if (n !== undefined) {
        waiting.delete(socket);
        released?.(socket, n);
      }
    }, thinkingMs);
  };
  const know = (socket: Socket): void => {
    known.add(socket);
    socket.once('close', () => {
      so.lost += waiting.delete(socket) ? 1 : 0;
    });
  };
  return {
    answer: (socket, n) => {
      if (!known.has(socket)) {
        know(socket);
      }

      waiting.set(socket, n);
      so.most = Math.max(so.most, waiting.size);
      if (released) {
        think(socket);
      }
    },
    waiting: () => waiting.size,
    most: () => so.most,
    lost: () => so.lost,
    release: (answer) => {
      released = answer;
      [...waiting.keys()].forEach(think);
    },
  };
}
