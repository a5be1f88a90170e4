import type { Connection } from '../../network.ts';

/** Of one try, in bytes. */
const most = 32 * 1024 * 1024;

type Held = { readonly bytes: Buffer; readonly canBeMadeAgain: boolean };

const held = new WeakMap<Connection, Map<string, Held>>();

/**
 * Keeps what was made for a post until it is uploaded: by its CID, for this try and no longer. A later try prepares its
 * posts anew before it uploads.
 *
 * @param canBeMadeAgain Where there is no room for it, it is made again when it is uploaded, as an image that was encoded.
 *   What cannot (the picture of a page that may be another one by then) takes the room of what can.
 * @returns whether it is kept.
 */
export function holdBytes(
  connection: Connection,
  cid: string,
  { bytes, canBeMadeAgain }: Held,
): boolean {
  const files = held.get(connection) ?? new Map<string, Held>();
  held.set(connection, files);
  if (files.get(cid)?.canBeMadeAgain === false) {
    return true;
  }

  files.delete(cid);
  const sizeOf = (all: Iterable<Held>) =>
    [...all].reduce((sum, one) => sum + one.bytes.length, bytes.length);
  if (!canBeMadeAgain) {
    for (const [other, one] of files) {
      if (one.canBeMadeAgain && sizeOf(files.values()) > most) {
        files.delete(other);
      }
    }
  }

  if (sizeOf(files.values()) > most) {
    return false;
  }

  files.set(cid, { bytes, canBeMadeAgain });
  return true;
}

export const heldBytes = (connection: Connection, cid: string): Buffer | undefined =>
  held.get(connection)?.get(cid)?.bytes;
