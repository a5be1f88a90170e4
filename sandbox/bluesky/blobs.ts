import { Refusal } from '../refusal.ts';
import { fileTypes, type Files } from '../files.ts';
import type { PostFile } from '../post.ts';

/** A file as records name it. */
export type Blob = {
  readonly $type: 'blob';
  readonly ref: { readonly $link: string };
  readonly mimeType: string;
  readonly size: number;
};

/** Keeps a file for a record that is to come. @throws Refusal 400 for what no browser can show. */
export async function uploadBlob(files: Files, bytes: Buffer): Promise<{ blob: Blob }> {
  const stored = await files.put(bytes);
  if (stored === null) {
    throw new Refusal(400, `The sandbox keeps ${fileTypes.join(', ')}.`);
  }
  const { cid, type: mimeType, size } = stored;
  return { blob: { $type: 'blob', ref: { $link: cid }, mimeType, size } };
}

/** The files that a record names, wherever it does. */
function blobsIn(value: unknown): Blob[] {
  if (typeof value !== 'object' || value === null) {
    return [];
  }
  return isBlob(value) ? [value] : Object.values(value).flatMap(blobsIn);
}

/** What the page shows below a record's text. */
export function filesIn(record: unknown): PostFile[] {
  return blobsIn(record).map(({ ref, mimeType }) => ({
    cid: ref.$link,
    type: mimeType,
    altText: '',
  }));
}

/** @throws Refusal 400 when a record names a file that was not uploaded, or names it wrongly: so a PDS answers. */
export async function assertBlobs(files: Files, record: unknown): Promise<void> {
  for (const { ref, mimeType, size } of blobsIn(record)) {
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
  }
}

/** Where the lexicon expects one, it has checked the rest of it. */
const isBlob = (value: object): value is Blob =>
  '$type' in value &&
  value.$type === 'blob' &&
  'ref' in value &&
  typeof Object(value.ref)['$link'] === 'string';
