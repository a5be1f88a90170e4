import { isUtf8 } from 'node:buffer';

export type GrowingBuffer = {
  /** In bytes. */
  readonly length: number;
  append(piece: Buffer): void;
  /** All bytes. Shares memory with the buffer: call it once, at the end. */
  bytes(): Buffer;
};

/**
 * Whether a body came in many tiny chunks, which legitimate senders do not produce: each costs as much as a large one.
 *
 * @param most Beyond this number, chunks must average 16 bytes.
 */
export const isFragmented = (chunks: number, bytes: number, most: number): boolean =>
  chunks > most && bytes < 16 * chunks;

const firstCapacity = 1024;

/**
 * Keeps the pieces in one buffer that doubles. A list of pieces could take hundreds of times their size when a sender
 * sends single bytes: an object for each, and the 64 kB socket buffer that each refers to.
 */
export function createGrowingBuffer(): GrowingBuffer {
  let buffer = Buffer.alloc(0);
  let length = 0;

  return {
    get length() {
      return length;
    },
    append(piece) {
      const needed = length + piece.length;
      if (needed > buffer.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * buffer.length, firstCapacity));
        buffer.copy(larger, 0, 0, length);
        buffer = larger;
      }

      piece.copy(buffer, length);
      length = needed;
    },
    bytes: () => buffer.subarray(0, length),
  };
}

/** Decodes a header as UTF-8, which clients and servers send, if it is; Node decodes headers as Latin-1. */
export function headerText(value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : value;
}
