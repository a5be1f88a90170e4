import { readFile } from 'node:fs/promises';

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
