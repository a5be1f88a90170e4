import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { cpus, loadavg, platform, release, tmpdir, totalmem } from 'node:os';
import path from 'node:path';
import type { Orm } from '../../db/orm.ts';
import { startGuard } from '../../scripts/parts/guard.ts';
import type { Stage } from '../../scripts/parts/part.ts';

/** The context of a running bench. */
export type Run<Options> = {
  readonly options: Options;
  /** A temporary folder, removed at the end. */
  readonly folder: string;
  readonly stage: Stage;
  /** Prints a target and whether it is met. The bench succeeds when all targets are met. */
  readonly target: (what: string, isMet: boolean) => void;
};

/** A bench, run by `npm run bench <name>`. */
export type Bench<Options, World extends { readonly orm: Orm }> = {
  /** @throws TypeError for an unknown option. @throws RangeError for an invalid number. */
  readonly readOptions: (args: readonly string[]) => Options;
  /** Starts everything that the measurements share. */
  readonly prepare: (run: Run<Options>) => Promise<World>;
  /** Measures the contenders, prints the results and the targets. */
  readonly measure: (world: World, run: Run<Options>) => Promise<void>;
  /** Closes connections. `runBench` ends the processes. */
  readonly close: (world: World) => Promise<unknown>;
};

/**
 * Runs a bench, and ends every process that it started, also after an interruption.
 *
 * @returns whether every target was met.
 */
export async function runBench<Options, World extends { readonly orm: Orm }>(
  bench: Bench<Options, World>,
  args: readonly string[],
): Promise<boolean> {
  const options = bench.readOptions(args);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupted.abort());
  }

  const guard = startGuard();
  const folder = await mkdtemp(path.join(tmpdir(), 'punctual-bench-'));
  // As root, PostgreSQL runs as another user, which must be able to enter the folder.
  await chmod(folder, 0o711);
  const say = (line: string) => console.log(line);
  const missed: string[] = [];
  const target = (what: string, isMet: boolean): void => {
    say(`${isMet ? 'met   ' : 'MISSED'}  ${what}`);
    missed.push(...(isMet ? [] : [what]));
  };
  try {
    const run = { options, folder, stage: { guard, say, signal: interrupted.signal }, target };
    const world = await bench.prepare(run);
    try {
      (await machineFacts(world.orm)).forEach(say);
      await bench.measure(world, run);
    } finally {
      await bench.close(world);
    }

    return missed.length === 0;
  } finally {
    await guard.endAll();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Describes the machine, a line per fact. */
async function machineFacts(orm: Orm): Promise<string[]> {
  const [version] = await orm.em.fork().execute<object[]>('show server_version');
  const [cpu] = cpus();
  const [loadLastMinute = 0] = loadavg();
  return [
    `Date         ${new Date().toISOString().slice(0, 10)}`,
    `Processor    ${cpus().length} × ${cpu?.model.trim() ?? 'unknown'}`,
    `Memory       ${Math.round(totalmem() / 2 ** 30)} GiB`,
    `System       ${platform()} ${release()}`,
    `Node         ${process.version}`,
    `PostgreSQL   ${Object.values(version ?? {}).join()}`,
    `Load before  ${loadLastMinute.toFixed(2)} (of ${cpus().length} when all cores are busy)`,
  ];
}

/** Parses a positive integer of an option. @throws RangeError for any other value. */
export function count(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) {
    throw new RangeError(`"${text}" is not a positive integer.`);
  }

  return number;
}
