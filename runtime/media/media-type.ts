import { fileTypeFromFile } from 'file-type';

/** What the library takes: every network takes some of these as they are. */
const kinds: Readonly<Record<string, { readonly kind: 'image' | 'video'; readonly type: string }>> =
  {
    'image/jpeg': { kind: 'image', type: 'image/jpeg' },
    'image/png': { kind: 'image', type: 'image/png' },
    // A PNG to whoever does not know the animation.
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
export async function mediaType(filePath: string) {
  const found = await fileTypeFromFile(filePath);
  return (found && kinds[found.mime]) ?? null;
}
