import { readdir, readFile } from 'node:fs/promises';
import type { Orm } from '../../db/orm.ts';

/** Linux's unit of processor time. */
const ticksPerSecond = 100;

/** Seconds of processor time by party. */
export type Costs<Party extends string> = Readonly<Record<Party, number>>;

/** The processor time of each party so far. */
export async function costsOf<Party extends string>(
  pids: Readonly<Record<Party, readonly number[]>>,
): Promise<Costs<Party>> {
  const processes = await allProcesses();
  const cost = (party: Party): number =>
    pids[party].reduce((sum, pid) => sum + cpuSeconds(processes, pid), 0);
  return byParty(pids, cost);
}

/** The difference of two readings; the later one comes first. */
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

/** The processor time of a process and its descendants so far, in seconds. */
function cpuSeconds(processes: readonly Process[], pid: number): number {
  const family = new Set([pid]);
  // A child has a higher id than its parent, unless the ids wrapped around. So repeat until no process is added.
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

/** The peak memory of a process, in MiB. */
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
    // The name in parentheses may contain anything; numeric fields follow it, from the third on: proc(5).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const field = (number: number): number => Number(fields[number - 3]);
    // User and system time of the process and of its ended children.
    const ticks = field(14) + field(15) + field(16) + field(17);
    return stat === '' ? [] : [{ id: Number(ids[index]), parent: field(4), ticks }];
  });
}

/** Time of all processors since the machine started, in ticks. */
export type ProcessorTime = { readonly all: number; readonly stolen: number };

/** Reads the first line of proc_stat(5). */
export async function processorTime(): Promise<ProcessorTime> {
  const [line = ''] = (await readFile('/proc/stat', 'utf8')).split('\n');
  // user nice system idle iowait irq softirq steal; the following fields are included in the first two.
  const ticks = line.trim().split(/\s+/v).slice(1, 9).map(Number);
  return { all: ticks.reduce((sum, each) => sum + each, 0), stolen: ticks[7] ?? 0 };
}

/**
 * The share of processor time that the host withheld between two readings, while processes here wanted to run: from 0
 * to 1, and 0 on a physical machine.
 */
export const stolenShare = (before: ProcessorTime, after: ProcessorTime): number =>
  after.all === before.all ? 0 : (after.stolen - before.stolen) / (after.all - before.all);

/** The parent of all PostgreSQL processes. */
export async function postmasterPid(orm: Orm): Promise<number> {
  const sql = `select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int as pid`;
  const [row] = await orm.em.fork().execute<{ pid: number }[]>(sql);
  return row?.pid ?? 0;
}
