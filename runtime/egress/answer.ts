import type { EgressResponse } from './egress.ts';

/** An answer while it comes in: nothing, then its head, then its body up to a limit. */
export type Answer = {
  readonly hasHead: boolean;
  begin(status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void;
  /** Keeps what fits; false when there was more. */
  add(chunk: Buffer): boolean;
  /** Call it once there is a head. */
  finish(truncated: boolean): EgressResponse;
};

/** @param maxBytes How much of the body is kept. */
export function createAnswer(maxBytes: number): Answer {
  const chunks: Buffer[] = [];
  let head: Pick<EgressResponse, 'status' | 'headers'> | undefined;
  let length = 0;

  return {
    get hasHead() {
      return head !== undefined;
    },
    begin(status, headers) {
      const first = Object.entries(headers).map(([name, value]) => [name, [value].flat()[0] ?? '']);
      head = { status, headers: Object.fromEntries(first) };
    },
    add(chunk) {
      const kept = chunk.subarray(0, maxBytes - length);
      chunks.push(kept);
      length += kept.length;
      return kept.length === chunk.length;
    },
    finish(truncated) {
      if (!head) {
        throw new Error('The answer has not begun.');
      }

      return { ...head, body: Buffer.concat(chunks, length), truncated };
    },
  };
}
