import { readFileSync, writeSync } from 'node:fs';
import { endWithParent } from '../../runtime/media/run-bounded.ts';

// Replaces the program that inspects files (`createInspector`): the file's content selects its behaviour.

endWithParent();
const [order] = readFileSync(process.argv[2] ?? '', 'utf8').split('\n');
const memory: Buffer[] = [];
const orders: Readonly<Record<string, () => void>> = {
  hang: () => {
    process.title = `hangs ${process.argv[2]}`; // Shows that the program has started.
    setInterval(() => undefined, 60_000);
  },
  burn: () => {
    for (;;) {}
  },
  fill: () => {
    for (;;) {
      memory.push(Buffer.alloc(10_000_000, 'x'));
    }
  },
  // The JavaScript heap, which has a separate limit.
  heap: () => {
    const all: unknown[] = [];
    for (;;) {
      all.push({ all: [all.length] });
    }
  },
  crash: () => void process.kill(process.pid, 'SIGSEGV'),
  die: () => void process.kill(process.pid, 'SIGKILL'),
};
const obey = orders[order ?? ''];
if (obey) {
  obey();
} else {
  writeSync(1, JSON.stringify({ type: 'image/png', width: 1, height: 1, durationMs: null }));
  process.exit(0);
}
