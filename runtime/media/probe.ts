import { writeSync } from 'node:fs';
import { fileTypeFromFile } from 'file-type';
import { liveAsChild } from './live-as-child.ts';
import type { MediaFacts, Refusal } from './media-facts.ts';
import { typeByBoxes } from './quicktime-boxes.ts';

// A program: looks at the file that its argument names, and writes what it is as JSON. `inspector.ts` bounds it.

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

/** What the library takes: every network takes some of these as they are. */
const kinds: Readonly<Record<string, { readonly kind: 'image' | 'video'; readonly type: string }>> =
  {
    'image/jpeg': { kind: 'image', type: 'image/jpeg' },
    'image/png': { kind: 'image', type: 'image/png' },
    // A PNG to programs that do not know the animation.
    'image/apng': { kind: 'image', type: 'image/png' },
    'image/gif': { kind: 'image', type: 'image/gif' },
    'image/webp': { kind: 'image', type: 'image/webp' },
    'video/mp4': { kind: 'video', type: 'video/mp4' },
    'video/x-m4v': { kind: 'video', type: 'video/mp4' },
    'video/quicktime': { kind: 'video', type: 'video/quicktime' },
    'video/webm': { kind: 'video', type: 'video/webm' },
  };

/**
 * The MIME type that a file's first bytes speak of, whatever it is called. Null for a file that is neither an image
 * nor a video of a kind that we take; SVG is a program rather than a picture, and no network takes it.
 */
async function mediaType(filePath: string) {
  const found = typeByBoxes(filePath) ?? (await fileTypeFromFile(filePath))?.mime;
  return (found && kinds[found]) ?? null;
}

// At the end, as it needs all that is above it.
writeSync(1, JSON.stringify(await look(process.argv[2] ?? '')));
process.exit(0);
