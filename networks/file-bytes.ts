import { NetworkError, type PartMedia } from './network.ts';

/**
 * Streams the bytes of a file. Opens it only when the first bytes are read.
 *
 * @param fromByte Where to start, below the file's size.
 * @throws NetworkError with `accepted: 'no'`, because no post goes out before its files: the errors of `open`;
 *   `media_refused` when the file has another size than the library recorded; `internal` when the storage breaks off.
 */
export async function* fileBytes(file: PartMedia, fromByte = 0): AsyncGenerator<Buffer> {
  const { name, sizeBytes } = file;
  let length = fromByte;
  const stream = await file.open(fromByte);
  try {
    for await (const chunk of stream) {
      length += chunk.length;
      // The request announced `sizeBytes`; more bytes would be cut off.
      if (length > sizeBytes) {
        break;
      }

      yield chunk;
    }
  } catch (error) {
    const message = `The file "${name}" could not be read to its end: the media storage of this service broke off.`;
    throw new NetworkError('internal', message, { accepted: 'no', cause: error });
  }

  if (length !== sizeBytes) {
    const message = `The file "${name}" is damaged: it no longer has the ${sizeBytes} bytes that it had. Upload it again for a new post.`;
    throw new NetworkError('media_refused', message, { accepted: 'no' });
  }
}
