import { closeSync, existsSync, openSync, readSync, renameSync, statSync } from 'node:fs';

/** A larger log is rotated at the next start; the previous one is kept. In bytes. */
const startAfreshAt = 10_000_000;

/** Opens a log that a process writes directly, so that it needs no reader. */
export function openLog(file: string): number {
  if (existsSync(file) && statSync(file).size > startAfreshAt) {
    renameSync(file, `${file}.1`);
  }
  return openSync(file, 'a', 0o600);
}

/** Calls `onLine` for each line added from now on. The returned function reads the rest and stops. */
export function followLog(file: string, onLine: (line: string) => void): () => void {
  const descriptor = openSync(file, 'r');
  const buffer = Buffer.alloc(65_536);
  let position = statSync(file).size;
  let unfinished = Buffer.alloc(0);
  const read = () => {
    for (;;) {
      const bytes = readSync(descriptor, buffer, 0, buffer.length, position);
      if (bytes === 0) {
        return;
      }

      position += bytes;
      const text = Buffer.concat([unfinished, buffer.subarray(0, bytes)]);
      const end = text.lastIndexOf('\n') + 1;
      unfinished = Buffer.from(text.subarray(end));
      for (const line of text.toString('utf8', 0, end).split('\n')) {
        if (line) {
          onLine(line);
        }
      }
    }
  };
  const timer = setInterval(read, 200);
  timer.unref();
  return () => {
    clearInterval(timer);
    read();
    closeSync(descriptor);
  };
}

/** The end of a log, to show why a process ended. */
export function lastLines(file: string, count: number, since = 0): string {
  const descriptor = openSync(file, 'r');
  try {
    const { size } = statSync(file);
    const length = Math.min(size - since, 20_000);
    const buffer = Buffer.alloc(Math.max(length, 0));
    readSync(descriptor, buffer, 0, buffer.length, size - buffer.length);
    return buffer.toString('utf8').trimEnd().split('\n').slice(-count).join('\n');
  } finally {
    closeSync(descriptor);
  }
}
