import type { Socket } from 'node:net';

/** Handles the connection of a whole request. @param n The number of the request at its receiver, from 1. */
export type Answer = (socket: Socket, n: number) => void;

/** Writes these bytes and leaves the connection open. */
export const saying =
  (bytes: string | Buffer): Answer =>
  (socket) => {
    socket.write(bytes);
  };

/** Writes these bytes and ends the connection. */
export const sayingLast =
  (bytes: string | Buffer): Answer =>
  (socket) => {
    socket.end(bytes);
  };

/** A response without a body. */
export function status(code: number, headers: Readonly<Record<string, string>> = {}): Answer {
  const length = code === 204 || code === 304 ? {} : { 'content-length': '0' };
  const lines = Object.entries({ ...headers, ...length }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return saying([`HTTP/1.1 ${code} Said`, ...lines, '', ''].join('\r\n'));
}

/** Gives one answer after the other, and repeats the last one. */
export const inTurn =
  (...answers: readonly Answer[]): Answer =>
  (socket, n) =>
    (answers[n - 1] ?? answers.at(-1))?.(socket, n);

export type Held = {
  readonly answer: Answer;
  /** How many requests have no answer yet and an open connection. */
  readonly waiting: () => number;
  /** The most requests that waited at the same time. */
  readonly most: () => number;
  /** How many connections ended before their answer. */
  readonly lost: () => number;
  /** Answers the waiting requests, and all later ones, like this. */
  readonly release: (answer: Answer) => void;
};

/** Keeps each request open long enough for concurrent ones to overlap, in milliseconds. */
const thinkingMs = 8;

/** A receiver that holds all requests until the test releases them. */
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
