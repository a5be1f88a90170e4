import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { withProgress } from '../progress.ts';
import { runCommand } from '../run-command.ts';
import { addToCache } from './cache-folder.ts';
import type { Search, Source } from './find-program.ts';

/** The kinds of server that `@temporalio/testing` can download. */
export type Downloadable = 'temporal' | 'temporal-test-server';

/** Where the SDK's downloads come from. */
const host = 'temporal.download';

/** Milliseconds until something must have begun to arrive. A firewall that swallows packets never says no. */
const beginWithinMs = 8000;

/** Milliseconds in which at least one more byte must arrive. */
const stallMs = 30_000;

const sdkScript = fileURLToPath(new URL('download-with-sdk.ts', import.meta.url));

/** The file name of a downloaded program in the cache. The SDK decides which version fits it. */
export const downloaded = (what: Downloadable): string => `${what}-for-sdk-1.24.0`;

/** The download that `@temporalio/testing` knows, given up in seconds where its host is out of reach. */
export function download(what: Downloadable): Source {
  return {
    name: 'download',
    async find(search) {
      let failure = `${host} gave nothing`;
      const fetchInto = async (folder: string) => {
        const result = await watched(what, folder, search);
        failure = result.failure ?? failure;
        return path.join(folder, result.file ?? 'nothing');
      };
      try {
        return { path: await addToCache(search.env, downloaded(what), fetchInto) };
      } catch {
        return { reason: failure };
      }
    },
  };
}

type Outcome = { readonly file?: string; readonly failure?: string };

/** Runs the SDK's download in a process of its own, since it can be neither watched nor ended from inside. */
async function watched(
  what: Downloadable,
  folder: string,
  { env, say, signal }: Search,
): Promise<Outcome> {
  const giveUp = new AbortController();
  const ends = [giveUp.signal, ...(signal ? [signal] : [])];
  const options = { env: { ...env }, signal: AbortSignal.any(ends) };
  const command = runCommand(process.execPath, [sdkScript, what, folder], options);
  const finished = command.then(({ stderr }): Outcome => ({
    failure: `${host}: ${stderr.trim().split('\n').at(-1) || 'no answer'}`,
  }));
  const over = new AbortController();
  void finished.then(() => over.abort());
  const stalled = untilStalled(folder, over.signal).then((failure): Outcome => ({ failure }));
  const outcome = await withProgress(say, `Downloading ${what} from ${host}`, () =>
    Promise.race([finished, stalled]),
  );
  giveUp.abort();
  await finished;
  const file = await complete(folder);
  return file ? { file } : outcome;
}

/** Resolves with the reason when nothing arrives for too long, and never while bytes come in. */
async function untilStalled(folder: string, over: AbortSignal): Promise<string> {
  let size = -1;
  let lastGrowthMs = Date.now();
  while (!over.aborted) {
    await sleep(100);
    const now = await arrived(folder);
    if (now > size) {
      size = now;
      lastGrowthMs = Date.now();
    }
    const patienceMs = size > 0 ? stallMs : beginWithinMs;
    if (Date.now() - lastGrowthMs > patienceMs) {
      return `nothing came from ${host} within ${patienceMs / 1000} s`;
    }
  }

  return '';
}

/** Bytes in the folder: the SDK writes to a file there while it downloads. */
async function arrived(folder: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(folder)) {
    bytes += await stat(path.join(folder, name)).then(
      ({ size }) => size,
      () => 0,
    );
  }
  return bytes;
}

/** The SDK gives a file its final name when it is whole. */
async function complete(folder: string): Promise<string | undefined> {
  return (await readdir(folder)).find((name) => !name.endsWith('.downloading'));
}
