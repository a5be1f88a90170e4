import { FilePathSource, Input, MP4, QTFF, WEBM } from 'mediabunny';
import type { PictureFacts } from './inspect-file.ts';

// A program: reads the tables of the video that its argument names, and writes what they say as JSON; `null` when
// there is no picture. It ends with an error when they cannot be read.

const input = new Input({
  source: new FilePathSource(process.argv[2] ?? ''),
  formats: [MP4, QTFF, WEBM],
});
const track = await input.getPrimaryVideoTrack();
const facts: PictureFacts | null = track && {
  width: Math.round(await track.getDisplayWidth()),
  height: Math.round(await track.getDisplayHeight()),
  durationMs: Math.round((await input.computeDuration()) * 1000),
};
process.stdout.write(JSON.stringify(facts));
