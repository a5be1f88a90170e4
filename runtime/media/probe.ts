import { statSync, writeSync } from 'node:fs';
import { fileTypeFromFile } from 'file-type';
import type { FileRefusal, MediaFacts } from './inspector.ts';
import { endWithParent, nullUnlessSystemError } from './run-bounded.ts';

// A program: inspects the file that its argument names and writes the result as JSON. `inspector.ts` sets its limits.

endWithParent();

/** Loads only the library that the file needs. */
async function inspectFile(filePath: string): Promise<MediaFacts | FileRefusal> {
  const found = await mediaType(filePath).catch(nullUnlessSystemError);
  if (!found || 'other' in found) {
    const refusal =
      statSync(filePath).size === 0
        ? 'The file is empty.'
        : 'The file is neither an image (JPEG, PNG, GIF, WebP) nor a video (MP4, MOV, WebM).';
    return { refusal: found ? `${refusal} It is ${found.other}.` : refusal };
  }

  const facts =
    found.kind === 'image'
      ? await (await import('./read-image.ts')).readImage(filePath)
      : await (await import('./read-video.ts')).readVideo(filePath);
  return 'refusal' in facts ? facts : { type: found.type, ...facts };
}

/** Accepted types: every network accepts some of them. */
const kinds: Readonly<Record<string, { readonly kind: 'image' | 'video'; readonly type: string }>> =
  {
    'image/jpeg': { kind: 'image', type: 'image/jpeg' },
    'image/png': { kind: 'image', type: 'image/png' },
    // A PNG to programs without support for the animation.
    'image/apng': { kind: 'image', type: 'image/png' },
    'image/gif': { kind: 'image', type: 'image/gif' },
    'image/webp': { kind: 'image', type: 'image/webp' },
    'video/mp4': { kind: 'video', type: 'video/mp4' },
    'video/x-m4v': { kind: 'video', type: 'video/mp4' },
    'video/quicktime': { kind: 'video', type: 'video/quicktime' },
    'video/webm': { kind: 'video', type: 'video/webm' },
  };

/**
 * Returns the type by a file's first bytes, whatever its name. Another image or video, such as HEIC, has its format and
 * what to do; other files are null. SVG is not accepted: it may contain scripts, and no network accepts it.
 */
async function mediaType(filePath: string) {
  const found = (await fileTypeFromFile(filePath))?.mime;
  const known = found && kinds[found];
  if (known) {
    return known;
  }

  const [kind, name = ''] = found?.split('/') ?? [];
  const better = kind === 'image' ? 'JPEG' : kind === 'video' ? 'MP4' : null;
  return (
    better && {
      other: `${name.replace(/^(?:x-|vnd\.)/v, '').toUpperCase()}: convert it to ${better}`,
    }
  );
}

// At the end, because it needs everything above.
writeSync(1, JSON.stringify(await inspectFile(process.argv[2] ?? '')));
process.exit(0);
