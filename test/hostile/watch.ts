import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** What was seen of the service while something happened to it. */
export type Seen = {
  /** The slowest answer of `/healthz`, without what this process itself was late by at that time. In milliseconds. */
  readonly healthMs: number;
  /** The most memory that its process held, in MiB above what it held at first. */
  readonly grewMb: number;
  readonly failures: readonly string[];
};

/** How often it is asked, in milliseconds. */
const everyMs = 50;

/**
 * Asks `/healthz` and looks at the process's memory all the while.
 *
 * @param firstMb What the process held before anything happened.
 * @returns what was seen until `stop` was called.
 */
export function watch(
  url: string,
  pid: number,
  firstMb: number,
): { readonly stop: () => Promise<Seen> } {
  const seen = { healthMs: 0, grewMb: 0, failures: [] as string[] };
  const over = new AbortController();
  const running = (async () => {
    while (!over.signal.aborted) {
      const lateMs = await lateness();
      const beganMs = performance.now();
      const failure = await ask(url);
      const tookMs = performance.now() - beganMs;
      // A machine that is busy with something else makes both late.
      seen.healthMs = Math.max(seen.healthMs, tookMs - Math.max(lateMs, await lateness()));
      seen.grewMb = Math.max(seen.grewMb, (await memoryMb(pid)) - firstMb);
      if (failure) {
        seen.failures.push(failure);
      }
    }
  })();
  return {
    stop: async () => {
      over.abort();
      await running;
      return seen;
    },
  };
}

/** By how much a timer of this process is late. */
async function lateness(): Promise<number> {
  const beganMs = performance.now();
  await sleep(everyMs / 2);
  return performance.now() - beganMs - everyMs / 2;
}

async function ask(url: string): Promise<string | null> {
  try {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(30_000) });
    await response.arrayBuffer();
    return response.status === 200 ? null : `/healthz answered with ${response.status}`;
  } catch (error) {
    return `/healthz did not answer: ${String(error)}`;
  }
}

/** What a process holds in memory, of which other processes hold nothing. */
export async function memoryMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const [, kib = '0'] = /^RssAnon:\s+(\d+) kB/mv.exec(status) ?? [];
  return Number(kib) / 1024;
}
