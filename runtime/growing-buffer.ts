/** Bytes that come in pieces. */
export type GrowingBuffer = {
  /** In bytes. */
  readonly length: number;
  /** Nobody who means well sends so many pieces of so few bytes: each costs the parser as much as a large one. */
  readonly isFragmented: boolean;
  append(piece: Buffer): void;
  /** All of it. It shares memory with the buffer, so call it once, at the end. */
  bytes(): Buffer;
};

/** More pieces than these must hold so many bytes on average. */
const [freePieces, leastAverage] = [16_384, 16];
const firstCapacity = 1024;

/**
 * Keeps the pieces in one buffer that doubles. A list of them would hold hundreds of times their size where a sender cuts
 * its bytes one by one: an object for each, and for each read from the socket the 64 kB that it came in.
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
