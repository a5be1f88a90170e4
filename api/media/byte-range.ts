import type { ByteRange } from '../../runtime/storage/media-storage.ts';

/**
 * The part of a file that a `Range` header asks for (RFC 9110, section 14). A header that asks for several parts, or
 * that cannot be read, asks for the whole: a server may ignore it.
 *
 * @returns `whole`, the one part, or `unsatisfiable` when it lies behind the end.
 */
export function byteRange(
  header: string,
  sizeBytes: number,
): ByteRange | 'whole' | 'unsatisfiable' {
  const match = /^bytes=(?<start>\d{0,15})-(?<end>\d{0,15})$/v.exec(header.trim());
  const { start: from = '', end: to = '' } = match?.groups ?? {};
  if (from === '' && to === '') {
    return 'whole';
  }

  const last = sizeBytes - 1;
  const start = from === '' ? Math.max(0, sizeBytes - Number(to)) : Number(from);
  const end = from === '' || to === '' ? last : Math.min(Number(to), last);
  if (from !== '' && to !== '' && Number(from) > Number(to)) {
    return 'whole';
  }

  return start > last ? 'unsatisfiable' : { start, end };
}
