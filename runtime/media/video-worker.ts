import { parentPort, workerData } from 'node:worker_threads';
import { FilePathSource, Input, MP4, QTFF, WEBM } from 'mediabunny';
import type { PictureFacts } from './inspect-file.ts';

// Reads the tables of the video at `workerData` and tells the parent; null when it has no picture.

const input = new Input({
  source: new FilePathSource(String(workerData)),
  formats: [MP4, QTFF, WEBM],
});
const track = await input.getPrimaryVideoTrack();
const facts: PictureFacts | null = track && {
  width: Math.round(await track.getDisplayWidth()),
  height: Math.round(await track.getDisplayHeight()),
  durationMs: Math.round((await input.computeDuration()) * 1000),
};
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- this port is no window.
parentPort?.postMessage(facts);
