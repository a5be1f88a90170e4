import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PublishStep } from '../../../networks/network.ts';

/** The time for the read bytes to leave before the process dies, in milliseconds. */
const leavesWithinMs = 200;

/** The same parts, but the process dies when half of the first file has been read. */
export const dyingIn = (step: PublishStep, die: () => void): PublishStep => ({
  ...step,
  parts: step.parts.map((part) => ({
    ...part,
    media: part.media.map((file) => ({
      ...file,
      open: async (from = 0) =>
        Readable.from(dyingHalfway(await file.open(from), (file.sizeBytes - from) / 2, die)),
    })),
  })),
});

async function* dyingHalfway(
  stream: Readable,
  half: number,
  die: () => void,
): AsyncGenerator<Buffer> {
  let read = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const left = Math.max(0, Math.ceil(half) - read);
    const isHalfway = left > 0 && left <= chunk.length;
    yield isHalfway ? chunk.subarray(0, left) : chunk;
    if (isHalfway) {
      await sleep(leavesWithinMs);
      die();
      yield chunk.subarray(left);
    }
    read += chunk.length;
  }
}
