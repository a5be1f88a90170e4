import { median } from '../quantile.ts';
import type { Contender } from './contender.ts';
import { bare, punctual } from './contenders.ts';
import { measure, type Measured } from './measure.ts';
import type { Options } from './options.ts';
import { verdict } from '../verdict.ts';
import type { World } from './world.ts';

/** Of the bare workflow's deliveries per second, at least. */
const targetShare = 0.8;

/** Ours and the bare workflow by turns, so that whatever else the machine does meets both. @returns whether the target was met. */
export async function compare(world: World, options: Options): Promise<boolean> {
  const { deliveries, rounds, only } = options;
  const { say } = world.stage;
  const results = { bare: [] as Measured[], punctual: [] as Measured[] };
  const taking = [bare, punctual].filter(({ name }) => only.includes(name));
  if (taking.length > 0) {
    say(`\n${deliveries} deliveries to 200 endpoints of 100 workspaces:`);
  }

  for (let round = 0; round < rounds; round += 1) {
    for (const contender of round % 2 === 0 ? taking : taking.toReversed()) {
      const measured = await measure(world, contender, deliveries);
      results[contender.name].push(measured);
      say(line(`  round ${round + 1}`, contender.name, [measured]));
    }
  }

  for (const { name } of taking) {
    say(line('medians', name, results[name]));
  }

  if (taking.length < 2) {
    return true; // There is nothing to compare.
  }

  // Each beside what was measured right before or after it.
  const shares = results.punctual.map(
    ({ perSecond }, round) => perSecond / (results.bare[round]?.perSecond ?? Number.NaN),
  );
  const share = median(shares);
  return verdict(
    say,
    `${share.toFixed(2)} of the bare workflow's rate; the target is ${targetShare} at least`,
    share >= targetShare,
  );
}

function line(when: string, name: Contender['name'], results: readonly Measured[]): string {
  const of = (value: (one: Measured) => number, digits = 1): string =>
    median(results.map(value)).toFixed(digits);
  const cpu = (party: keyof Measured['cpu']): string =>
    of((one) => (one.cpu[party] * 1000) / one.deliveries, 2);
  return [
    `${when}  ${name.padEnd(9)}${of((one) => one.perSecond).padStart(7)} deliveries/s`,
    `lag p50 ${of((one) => one.p50Ms / 1000)} s p99 ${of((one) => one.p99Ms / 1000)} s`,
    `CPU ms/delivery: worker ${cpu('worker')} Temporal ${cpu('temporal')} PostgreSQL ${cpu('postgres')} receiver ${cpu('receiver')}`,
    `telling ${of((one) => (one.tellingCpu * 1000) / one.deliveries, 2)} over ${of((one) => one.tellingMs / 1000)} s`,
    `worker ${of((one) => one.workerPeakMiB, 0)} MiB`,
  ].join('   ');
}
