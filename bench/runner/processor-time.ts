import { readdir, readFile } from 'node:fs/promises';
import type { Orm } from '../../db/orm.ts';

/** What Linux counts processor time in. */
const ticksPerSecond = 100;

/** Seconds of processor time, by whose it is. */
export type Costs<Party extends string> = Readonly<Record<Party, number>>;

/** What the processes of each party have used so far. */
export async function costsOf<Party extends string>(
  pids: Readonly<Record<Party, readonly number[]>>,
): Promise<Costs<Party>> {
  const processes = await allProcesses();
  const cost = (party: Party): number =>
    pids[party].reduce((sum, pid) => sum + cpuSeconds(processes, pid), 0);
  return byParty(pids, cost);
}

/** What they have used since, where the later of two looks comes first. */
export const spent = <Party extends string>(
  after: Costs<Party>,
  before: Costs<Party>,
): Costs<Party> => byParty(after, (party) => after[party] - before[party]);

function byParty<Party extends string>(
  parties: Readonly<Record<Party, unknown>>,
  value: (party: Party) => number,
): Costs<Party> {
  const names = Object.keys(parties) as Party[];
  return Object.fromEntries(names.map((party) => [party, value(party)])) as Costs<Party>;
}

/** Processor time that a process and all that it started have used so far, in seconds. */
function cpuSeconds(processes: readonly Process[], pid: number): number {
  const family = new Set([pid]);
  // A child has a higher number than its parent, unless the numbers began anew meanwhile: hence until none is added.
  for (let size = 0; size < family.size;) {
    size = family.size;
    for (const { id, parent } of processes) {
      if (family.has(parent)) {
        family.add(id);
      }
    }
  }

  const ticks = processes.map((one) => (family.has(one.id) ? one.ticks : 0));
  return ticks.reduce((sum, each) => sum + each, 0) / ticksPerSecond;
}

/** The most memory that a process has had so far, in MiB. */
export async function peakMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/mv.exec(status)?.[1]) / 1024;
}

type Process = { readonly id: number; readonly parent: number; readonly ticks: number };

async function allProcesses(): Promise<Process[]> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/v.test(name));
  const stats = await Promise.all(
    ids.map((id) => readFile(`/proc/${id}/stat`, 'utf8').catch(() => '')),
  );
  return stats.flatMap((stat, index) => {
    // The name, in brackets, may hold anything; what follows it is numbers: proc(5), from the third on.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const field = (number: number): number => Number(fields[number - 3]);
    // Of its own, in the kernel for it, and the same of its children that have ended.
    const ticks = field(14) + field(15) + field(16) + field(17);
    return stat === '' ? [] : [{ id: Number(ids[index]), parent: field(4), ticks }];
  });
}

/** Time of all processors, in Linux's ticks, since the machine started. */
export type ProcessorTime = { readonly all: number; readonly stolen: number };

/** What a virtual machine's processors have done so far: proc_stat(5), the first line. */
export async function processorTime(): Promise<ProcessorTime> {
  const [line = ''] = (await readFile('/proc/stat', 'utf8')).split('\n');
  // user nice system idle iowait irq softirq steal; what follows is in the first two already.
  const ticks = line.trim().split(/\s+/v).slice(1, 9).map(Number);
  return { all: ticks.reduce((sum, each) => sum + each, 0), stolen: ticks[7] ?? 0 };
}

/**
 * The share of the processors that the host gave to others between two looks, while something wanted to run here: from
 * 0 to 1, and 0 on a machine of its own.
 */
export const stolenShare = (before: ProcessorTime, after: ProcessorTime): number =>
  after.all === before.all ? 0 : (after.stolen - before.stolen) / (after.all - before.all);

/** The process that all others of PostgreSQL are children of. */
export async function postmasterPid(orm: Orm): Promise<number> {
  const sql = `select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int as pid`;
  const [row] = await orm.em.fork().execute<{ pid: number }[]>(sql);
  return row?.pid ?? 0;
}
