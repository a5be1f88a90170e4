import type { Socket } from 'node:net';

/** Servers that never come to the end of their answer's head, by what they send instead. */
export const neverEnding: Readonly<Record<string, (socket: Socket) => void>> = {
  'nothing at all': () => {},
  'headers without end': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    const timer = setInterval(() => socket.write('a: b\r\n'), 20);
    socket.on('close', () => clearInterval(timer));
  },
  'early hints without end': (socket) => {
    const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 20);
    socket.on('close', () => clearInterval(timer));
  },
};
