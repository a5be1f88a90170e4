import * as fc from 'fast-check';

/** A property that must hold for any bytes from outside. */
export type Property = {
  readonly name: string;
  /** @throws Error when it does not hold. */
  readonly check: fc.IAsyncProperty<unknown> | fc.IProperty<unknown>;
};

/** Bytes similar to valid ones: cut, repeated, or with some replaced. */
export const near = (...right: readonly Uint8Array[]): fc.Arbitrary<Buffer> =>
  fc
    .record({
      bytes: fc.constantFrom(...right),
      from: fc.double({ min: 0, max: 1, noNaN: true }),
      length: fc.double({ min: 0, max: 1, noNaN: true }),
      isCut: fc.boolean(),
      isTwice: fc.boolean(),
      spots: fc.array(
        fc.record({
          at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
          put: fc.oneof(
            fc.uint8Array({ minLength: 1, maxLength: 8 }),
            fc.constantFrom(...dreaded.map((text) => Buffer.from(text, 'latin1'))),
          ),
        }),
        { maxLength: 6 },
      ),
    })
    .map(({ bytes, from, length, isCut, isTwice, spots }) => {
      const changed = Buffer.from(bytes);
      for (const { at, put } of spots) {
        changed.set(
          put.subarray(0, changed.length),
          Math.max(0, Math.floor(at * (changed.length - put.length))),
        );
      }

      const kept = isCut
        ? changed.subarray(
            Math.floor(from * changed.length * 0.2),
            Math.ceil((0.2 + 0.8 * length) * changed.length),
          )
        : changed;
      return isTwice ? Buffer.concat([kept, kept]) : Buffer.from(kept);
    });

/** Pieces that often break parsers. */
const dreaded = [
  '\u0000',
  '\r\n\r\n',
  '\r\n--b\r\n',
  '\u00ff\u00ff\u00ff\u00ff',
  '\u007f\u00ff\u00ff\u00ff',
  '\u0080\u0000\u0000\u0000',
  '{"',
  '\\u0000',
  '\\ud800',
  '1e999',
  '__proto__',
  ";filename*=UTF-8''%ff%00",
];
