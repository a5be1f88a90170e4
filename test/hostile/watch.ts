import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** Measurements of the service during an attack. */
export type Seen = {
  /** The slowest answer of `/healthz` in milliseconds, without this process's own delay at that time. */
  readonly healthMs: number;
  /** The largest memory of its process, in MiB above the start. */
  readonly grewMb: number;
  readonly failures: readonly string[];
};

/** The interval of the measurements, in milliseconds. */
const everyMs = 50;

/**
 * Calls `/healthz` and measures the process's memory until `stop` is called.
 *
 * @param firstMb The process's memory before the first attack.
 * @returns a function that stops and returns the measurements.
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
      // Other load on the machine delays both.
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

/** How late a timer of this process is, in milliseconds. */
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

/** The memory of a process that it shares with no other, in MiB. */
export async function memoryMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const [, kib = '0'] = /^RssAnon:\s+(\d+) kB/mv.exec(status) ?? [];
  return Number(kib) / 1024;
}
