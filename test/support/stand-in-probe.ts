import { readFileSync, writeSync } from 'node:fs';
import { liveAsChild } from '../../runtime/media/live-as-child.ts';

// A program that stands in for the one that looks at files (`createInspector`): it does what the file says.

liveAsChild();
const [order] = readFileSync(process.argv[2] ?? '', 'utf8').split('\n');
const memory: Buffer[] = [];
const orders: Readonly<Record<string, () => void>> = {
  hang: () => {
    process.title = `hangs ${process.argv[2]}`; // It is past its beginning.
    setInterval(() => undefined, 60_000);
  },
  burn: () => {
    for (;;) {
      // Until it is stopped.
    }
  },
  fill: () => {
    for (;;) {
      memory.push(Buffer.alloc(10_000_000, 'x'));
    }
  },
  // The heap of JavaScript, which has another bound than the rest.
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
