import { NetworkError, type PartMedia } from './network.ts';

/**
 * The bytes of a file, as they come. Opens nothing before the first is asked for.
 *
 * @param fromByte Where to begin: below the file's size.
 * @throws NetworkError what `open` throws; `media_refused` when there are fewer bytes or more than the library knows
 *   of; `internal` when the storage breaks off. All with `taken: 'no'`: no post goes out before its files.
 */
export async function* fileBytes(file: PartMedia, fromByte = 0): AsyncGenerator<Buffer> {
  const { name, sizeBytes } = file;
  let length = fromByte;
  const stream = await file.open(fromByte);
  try {
    for await (const chunk of stream) {
      length += chunk.length;
      // The request announced so many bytes, and would end in the middle of the file.
      if (length > sizeBytes) {
        break;
      }

      yield chunk;
    }
  } catch (error) {
    const message = `The file "${name}" could not be read to its end: the media storage of this service broke off.`;
    throw new NetworkError('internal', message, { taken: 'no', cause: error });
  }

  if (length !== sizeBytes) {
    const message = `The file "${name}" is damaged: it no longer has the ${sizeBytes} bytes that it had. Upload it again for a new post.`;
    throw new NetworkError('media_refused', message, { taken: 'no' });
  }
}
