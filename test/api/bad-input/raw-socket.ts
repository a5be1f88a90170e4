import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export type RawAnswer = {
  /** Null when the connection ended without an answer. */
  readonly status: number | null;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
};

/**
 * Sends bytes as they are over a socket of its own, and reads what comes back until the server closes it. For what
 * no HTTP client would say.
 *
 * @param how.hangUpAfterMs Closes the socket so long after sending, as a client does that goes away.
 */
export async function rawSocket(
  url: string,
  bytes: string | Buffer,
  { hangUpAfterMs }: { hangUpAfterMs?: number } = {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('error', () => undefined); // A reset is an end like any other.
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  if (hangUpAfterMs !== undefined) {
    await sleep(hangUpAfterMs);
    socket.destroy();
  }

  const late = AbortSignal.timeout(20_000);
  await Promise.race([
    closed,
    once(late, 'abort').then(() => {
      socket.destroy();
      throw new Error(`No end of the answer: ${Buffer.concat(chunks).toString().slice(0, 500)}`);
    }),
  ]);
  return read(Buffer.concat(chunks).toString('utf8'));
}

function read(answer: string): RawAnswer {
  const [head = '', ...rest] = answer.split('\r\n\r\n');
  const [start = '', ...lines] = head.split('\r\n');
  const status = /^HTTP\/1\.1 (?<status>\d{3})/v.exec(start)?.groups?.['status'];
  return {
    status: status === undefined ? null : Number(status),
    headers: new Map(
      lines.map((line) => {
        const at = line.indexOf(':');
        return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
      }),
    ),
    text: rest.join('\r\n\r\n'),
  };
}
