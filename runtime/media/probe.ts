import { writeSync } from 'node:fs';
import { liveAsChild } from './live-as-child.ts';
import type { MediaFacts, Refusal } from './media-facts.ts';
import { mediaType } from './media-type.ts';

// A program: looks at the file that its argument names, and writes what it is as JSON. `run-probe.ts` bounds it.

liveAsChild();

/** Only the library that the file needs is loaded. */
async function look(filePath: string): Promise<MediaFacts | Refusal> {
  const found = await mediaType(filePath).catch(nullUnlessUnread);
  if (!found) {
    return {
      refusal: 'The file is neither an image (JPEG, PNG, GIF, WebP) nor a video (MP4, MOV, WebM).',
    };
  }

  const facts =
    found.kind === 'image'
      ? await (await import('./read-image.ts')).readImage(filePath)
      : await (await import('./read-video.ts')).readVideo(filePath);
  return 'refusal' in facts ? facts : { type: found.type, ...facts };
}

/** What makes the parser fail is no file that we take. One that could not be read may be such. */
function nullUnlessUnread(error: unknown): null {
  if (error instanceof Error && 'syscall' in error) {
    throw error;
  }

  return null;
}

writeSync(1, JSON.stringify(await look(process.argv[2] ?? '')));
process.exit(0);
