import { cpus, loadavg, platform, release, totalmem } from 'node:os';

/** What the numbers below it were measured on, a line per fact. */
export function machineFacts(postgresVersion: string): string[] {
  const [cpu] = cpus();
  const [loadLastMinute = 0] = loadavg();
  return [
    `Date         ${new Date().toISOString().slice(0, 10)}`,
    `Processor    ${cpus().length} × ${cpu?.model.trim() ?? 'unknown'}`,
    `Memory       ${Math.round(totalmem() / 2 ** 30)} GiB`,
    `System       ${platform()} ${release()}`,
    `Node         ${process.version}`,
    `PostgreSQL   ${postgresVersion}`,
    `Load before  ${loadLastMinute.toFixed(2)} (of ${cpus().length} when all cores are busy)`,
  ];
}
