import type { Socket } from 'node:net';

const announcement = /^HTTP\/1\.[01] (1\d\d)(?=[ \r])/v;

/** Of the last digit of the status in such a line. */
const lastDigit = 'HTTP/1.1 10'.length;

/**
 * Lets undici pass over a `100 Continue` that nobody asked for, as it does with other statuses that only announce the
 * answer and as RFC 9110 (section 15.2) wants: it takes one for the end of the connection, while some proxies send it
 * before every answer. So it reads `103` instead.
 *
 * Looks only at what comes first after a request was written, and only at whole status lines: they are sent in one
 * piece.
 */
export function passContinue(socket: Socket): Socket {
  const read = socket.read.bind(socket);
  let answeredBytes = -1;
  socket.read = (size) => {
    const chunk: unknown = read(size);
    if (Buffer.isBuffer(chunk) && socket.bytesWritten > answeredBytes && !isAnnouncement(chunk)) {
      answeredBytes = socket.bytesWritten;
    }

    return chunk;
  };
  return socket;
}

/** Renames each `100` among the announcements at the beginning. @returns whether nothing comes after them yet. */
function isAnnouncement(chunk: Buffer): boolean {
  let from = 0;
  while (from < chunk.length) {
    const [, status] = announcement.exec(chunk.toString('latin1', from, from + 13)) ?? [];
    const end = chunk.indexOf('\r\n\r\n', from);
    if (status === '100') {
      chunk.write('3', from + lastDigit, 'latin1');
    }

    if (status === undefined || end === -1) {
      return false;
    }

    from = end + 4;
  }

  return true;
}
