import { Refusal } from '../refusal.ts';
import { fileTypes, type Files } from '../files.ts';

/** A reference to a file in a record. */
export type Blob = {
  readonly $type: 'blob';
  readonly ref: { readonly $link: string };
  readonly mimeType: string;
  readonly size: number;
};

/** Stores a file for a later record. @throws Refusal 400 for a type that browsers cannot show. */
export async function uploadBlob(files: Files, bytes: Buffer): Promise<{ blob: Blob }> {
  const stored = await files.put(bytes);
  if (stored === null) {
    throw new Refusal(400, `The sandbox keeps ${fileTypes.join(', ')}.`);
  }
  const { cid, type: mimeType, size } = stored;
  return { blob: { $type: 'blob', ref: { $link: cid }, mimeType, size } };
}

/** Limits of a record's field. Sources: lexicons `app.bsky.embed.images`, `.video` and `.external`. */
type Place = { readonly accept: string; readonly maxSize: number };

const places: Readonly<Record<string, Place>> = {
  image: { accept: 'image/*', maxSize: 2_000_000 },
  video: { accept: 'video/mp4', maxSize: 300_000_000 },
  thumb: { accept: 'image/*', maxSize: 1_000_000 },
};

type Named = { readonly blob: Blob; readonly place: Place | undefined };

/** All files that a record refers to. @param name The field of the value. */
function blobsIn(value: unknown, name = ''): Named[] {
  if (typeof value !== 'object' || value === null) {
    return [];
  }
  return isBlob(value)
    ? [{ blob: value, place: places[name] }]
    : Object.entries(value).flatMap(([key, inner]) => blobsIn(inner, key));
}

/** @throws Refusal 400, like a PDS, when a record refers to a missing file or describes it wrongly. */
export async function assertBlobs(files: Files, record: unknown): Promise<void> {
  for (const { blob, place } of blobsIn(record)) {
    const { ref, mimeType, size } = blob;
    const stored = await files.find(ref.$link);
    if (stored === null) {
      throw new Refusal(400, `Could not find blob: ${ref.$link}`, { code: 'BlobNotFound' });
    }
    if (stored.type !== mimeType) {
      const message = `Referenced Mimetype does not match stored blob. Expected: ${stored.type}, Got: ${mimeType}`;
      throw new Refusal(400, message, { code: 'InvalidMimeType' });
    }
    if (stored.size !== size) {
      const message = `Referenced Size does not match stored blob. Expected: ${stored.size}, Got: ${size}`;
      throw new Refusal(400, message, { code: 'InvalidSize' });
    }
    assertFits(blob, place);
  }
}

function assertFits({ mimeType, size }: Blob, place: Place | undefined): void {
  const { accept = '*/*', maxSize = Infinity } = place ?? {};
  if (size > maxSize) {
    const message = `This file is too large. It is ${megabytes(size)} but the maximum size is ${megabytes(maxSize)}.`;
    throw new Refusal(400, message, { code: 'BlobTooLarge' });
  }
  if (!mimeType.startsWith(accept.replace(/\*.*$/v, ''))) {
    const message = `Wrong type of file. It is ${mimeType} but it must match ${accept}.`;
    throw new Refusal(400, message, { code: 'InvalidMimeType' });
  }
}

const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(2)}MB`;

/** The lexicon has checked the other fields of a blob where it expects one. */
const isBlob = (value: object): value is Blob =>
  '$type' in value &&
  value.$type === 'blob' &&
  'ref' in value &&
  typeof Object(value.ref)['$link'] === 'string';
