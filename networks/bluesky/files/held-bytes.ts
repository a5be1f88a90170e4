import type { Connection } from '../../network.ts';

/** Of one try, in bytes. What is beyond is encoded anew when it is uploaded. */
const most = 32 * 1024 * 1024;

const held = new WeakMap<Connection, Map<string, Buffer>>();

/**
 * Keeps what was encoded for a post until it is uploaded: by its CID, for this try and no longer. A later try prepares its
 * posts anew before it uploads.
 */
export function holdBytes(connection: Connection, cid: string, bytes: Buffer): void {
  const files = held.get(connection) ?? new Map<string, Buffer>();
  held.set(connection, files);
  const size = [...files.values()].reduce((sum, { length }) => sum + length, bytes.length);
  if (size <= most) {
    files.set(cid, bytes);
  }
}

export const heldBytes = (connection: Connection, cid: string): Buffer | undefined =>
  held.get(connection)?.get(cid);
