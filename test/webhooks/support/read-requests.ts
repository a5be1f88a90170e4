import type { Socket } from 'node:net';

/** A request as it came over the wire. */
export type Arrived = {
  readonly path: string;
  /** Its head, line by line. */
  readonly lines: readonly string[];
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  /** The bytes as UTF-8. */
  readonly body: string;
};

/** Reads the requests of a connection, one after the other. Node's own server would hide how they were written. */
export function readRequests(socket: Socket, take: (request: Arrived) => void): void {
  let pending = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    for (let next = readOne(pending); next !== null; next = readOne(pending)) {
      pending = pending.subarray(next.length);
      take(next.request);
    }
  });
}

/** @returns null while it is not whole. */
function readOne(pending: Buffer): { request: Arrived; length: number } | null {
  const headLength = pending.indexOf('\r\n\r\n');
  if (headLength === -1) {
    return null;
  }

  const lines = pending.toString('latin1', 0, headLength).split('\r\n');
  const headers = Object.fromEntries(lines.slice(1).map(nameAndValue));
  const length = headLength + 4 + Number(headers['content-length'] ?? 0);
  if (pending.length < length) {
    return null;
  }

  const bytes = pending.subarray(headLength + 4, length);
  const path = lines[0]?.split(' ')[1] ?? '';
  return { length, request: { path, lines, headers, bytes, body: bytes.toString('utf8') } };
}

function nameAndValue(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}
