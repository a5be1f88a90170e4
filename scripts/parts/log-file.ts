import { closeSync, existsSync, openSync, readSync, renameSync, statSync } from 'node:fs';

/** Bytes after which a log begins anew at the next start; the one before is kept. */
const startAfreshAt = 10_000_000;

/** Opens a log for a process to write to by itself, so that it needs no reader. */
export function openLog(file: string): number {
  if (existsSync(file) && statSync(file).size > startAfreshAt) {
    renameSync(file, `${file}.1`);
  }
  return openSync(file, 'a', 0o600);
}

/** Calls `onLine` for each line that is added from now on. Call what it returns to read the rest and stop. */
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

/** The end of a log, for a person who wants to know why a process ended. */
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
