import { isUtf8 } from 'node:buffer';

export type GrowingBuffer = {
  /** In bytes. */
  readonly length: number;
  /**
   * True for many tiny pieces, which legitimate senders do not produce: each costs the parser as much as a large one.
   */
  readonly isFragmented: boolean;
  append(piece: Buffer): void;
  /** All bytes. Shares memory with the buffer: call it once, at the end. */
  bytes(): Buffer;
};

/** Beyond this number, pieces must average this many bytes. */
const [freePieces, leastAverage] = [16_384, 16];
const firstCapacity = 1024;

/**
 * Keeps the pieces in one buffer that doubles. A list of pieces could take hundreds of times their size when a sender
 * sends single bytes: an object for each, and the 64 kB socket buffer that each refers to.
 */
export function createGrowingBuffer(): GrowingBuffer {
  let buffer = Buffer.alloc(0);
  let length = 0;
  let pieces = 0;

  return {
    get length() {
      return length;
    },
    get isFragmented() {
      return pieces > freePieces && length < pieces * leastAverage;
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
      pieces += 1;
    },
    bytes: () => buffer.subarray(0, length),
  };
}

/** Decodes a header as UTF-8, which clients and servers send, if it is; Node decodes headers as Latin-1. */
export function headerText(value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : value;
}
