import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { CustomSource, FilePathSource, Input, MP4, QTFF, WEBM, type Source } from 'mediabunny';
import type { PictureFacts, FileRefusal } from './media-facts.ts';
import { typeByBoxes } from './quicktime-boxes.ts';
import { videoDetails } from './video-details.ts';

/** Reads a video's tables. Decodes nothing. */
export async function readVideo(filePath: string): Promise<PictureFacts | FileRefusal> {
  const unreadable = { refusal: 'The file begins like a video but cannot be read as one.' };
  try {
    const input = new Input({
      source: sourceOf(filePath),
      formats: [MP4, QTFF, WEBM],
    });
    const track = await input.getPrimaryVideoTrack();
    if (!track) {
      return { refusal: 'The file begins like a video but has no video track.' };
    }

    const facts = {
      width: Math.round(await track.getDisplayWidth()),
      height: Math.round(await track.getDisplayHeight()),
      durationMs: Math.round((await input.computeDuration()) * 1000),
    };
    if (!isPlausible(facts)) {
      return unreadable;
    }

    const sound = await input.getPrimaryAudioTrack().catch(() => null);
    return { ...facts, details: await videoDetails(track, sound) };
  } catch {
    return unreadable;
  }
}

/** The library detects QuickTime by a leading `ftyp`, which a file may lack. */
const front = Buffer.from('\0\0\0\u0014ftypqt  \0\0\0\0qt  ', 'latin1');

function sourceOf(filePath: string): Source {
  if (typeByBoxes(filePath) === null) {
    return new FilePathSource(filePath);
  }

  // Only tables are read, so the wrong offsets of pictures, shifted by this box, do not matter.
  const file = openSync(filePath, 'r');
  return new CustomSource({
    getSize: () => front.length + fstatSync(file).size,
    read: (start, end) => {
      const own = front.subarray(start, end);
      const rest = Buffer.alloc(end - start - own.length);
      readSync(file, rest, 0, rest.length, Math.max(0, start - front.length));
      return Buffer.concat([own, rest]);
    },
    dispose: () => closeSync(file),
  });
}

/** Larger values are implausible and do not fit into the database's columns. */
const isPlausible = ({ width, height, durationMs }: Omit<PictureFacts, 'details'>): boolean =>
  isFrom1To(65_535, width) && isFrom1To(65_535, height) && isFrom1To(2 ** 31 - 1, durationMs ?? 1);

const isFrom1To = (most: number, value: number | null): boolean =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most;
