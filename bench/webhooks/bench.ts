import { parseArgs } from 'node:util';
import { count, type Bench, type Run } from '../runner/bench.ts';
import { measureByTurns, timesTheRateOf } from '../runner/contenders.ts';
import { median } from '../runner/quantile.ts';
import { bare, punctual, type Contender } from './contenders.ts';
import { measureHung, type HungPlan } from './hung.ts';
import { measureIsolation } from './isolation.ts';
import { measure, type Measured } from './measure.ts';
import { makeWorld, type World } from './world.ts';

/** Minimum share of the bare workflow's deliveries per second. */
const targetShare = 0.8;

export type Options = {
  /** Per round and contender. */
  readonly deliveries: number;
  readonly rounds: number;
  /** The measured cases: `bare`, `punctual`, `isolation`, `hung`. */
  readonly only: readonly string[];
  readonly hung: HungPlan;
  /** A folder for Node's CPU profiles of workers. */
  readonly profile: string | undefined;
};

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      deliveries: { type: 'string', default: '5000' },
      rounds: { type: 'string', default: '3' },
      only: { type: 'string', default: 'bare,punctual,isolation' },
      endpoints: { type: 'string', default: '100' },
      waiting: { type: 'string', default: '400' },
      profile: { type: 'string' },
    },
  });
  return {
    deliveries: count(values.deliveries),
    rounds: count(values.rounds),
    only: values.only.split(','),
    hung: { endpoints: count(values.endpoints), waiting: count(values.waiting) },
    profile: values.profile,
  };
}

/**
 * `npm run bench webhooks -- [--deliveries 5000] [--rounds 3] [--only bare,punctual,isolation,hung] [--endpoints 100]
 * [--waiting 400] [--profile folder]`. `hung` takes ten minutes or more, and only runs when named.
 */
export const bench: Bench<Options, World> = {
  readOptions,
  prepare: ({ folder, stage, options }) => makeWorld(folder, stage, options.profile),
  measure: async (world, run) => {
    const { only, hung } = run.options;
    if (only.includes('isolation')) {
      await measureIsolation(world, run.target);
    }

    if (only.includes('hung')) {
      await measureHung(world, hung, run.target);
    }

    await compare(world, run);
  },
  close: ({ orm }) => orm.close(),
};

/** Compares ours with the bare workflow, alternating. */
async function compare(
  world: World,
  { options: { deliveries, rounds, only }, stage: { say }, target }: Run<Options>,
): Promise<void> {
  const taking = [bare, punctual].filter(({ name }) => only.includes(name));
  if (taking.length > 0) {
    say(`\n${deliveries} deliveries to 200 endpoints of 100 workspaces:`);
  }

  const results = await measureByTurns<Contender['name'], Contender, Measured>(
    taking,
    rounds,
    (contender) => measure(world, contender, deliveries),
    ({ name }, measured, round) => say(line(`  round ${round + 1}`, name, [measured])),
  );
  for (const { name } of taking) {
    say(line('medians', name, results[name] ?? []));
  }

  const share = timesTheRateOf(results.punctual, results.bare);
  if (share !== undefined) {
    const what = `${share.toFixed(2)} of the bare workflow's rate`;
    target(`${what}; the target is at least ${targetShare}`, share >= targetShare);
  }
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
    `starting ${of((one) => (one.startingCpu * 1000) / one.deliveries, 2)} over ${of((one) => one.startingMs / 1000)} s`,
    `worker ${of((one) => one.workerPeakMiB, 0)} MiB`,
  ].join('   ');
}
