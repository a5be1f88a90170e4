import type { Bench, Run } from '../runner/bench.ts';
import { measureByTurns, timesTheRateOf, type Results } from '../runner/contenders.ts';
import { median } from '../runner/quantile.ts';
import { contenders, type Contender } from './contenders.ts';
import { measure, TooLateError, type Measured, type Stand } from './measure.ts';
import { makeWorld, readOptions, type Options, type World } from './world.ts';

/**
 * `npm run bench posts -- [--posts 300,2000] [--channels 1,5] [--rounds n] [--only bare,punctual,peer] [--whole-peer]
 * [--profile folder]`: posts due in the same second, compared with a bare workflow and the workflow of the nearest
 * peer.
 */
export const bench: Bench<Options, World> = {
  readOptions,
  prepare: makeWorld,
  measure: async (world, run) => {
    const { posts, channels } = run.options;
    for (const one of posts.flatMap((n) => channels.map((c) => ({ posts: n, channels: c })))) {
      report(run, one, await measureAll(world, one));
    }
  },
  close: ({ orm }) => orm.close(),
};

/** Minimum share of the bare workflow's posts per second. */
const targetShare = 0.8;

/** Minimum multiple of the peer's posts per second. With more than one channel, the peer runs a workflow for each. */
const targetTimes = (channels: number): number => (channels === 1 ? 5 : 10);

/**
 * The most workflows of the peer, unless all are requested: at a few posts per second, all would take most of an hour.
 * More than fit into a worker's cache would favour ours, since workflows would be evicted between steps.
 */
const peerWorkflows = 300;

type Case = { readonly posts: number; readonly channels: number };

/** Measures the contenders alternately. */
function measureAll(
  world: World,
  { posts, channels }: Case,
): Promise<Partial<Results<Contender['name'], Measured>>> {
  const { options, stage } = world;
  const rounds = options.rounds ?? (posts > 500 ? 1 : 3);
  return measureByTurns<Contender['name'], Contender, Measured>(
    contenders.filter(({ name }) => options.contenders.includes(name)),
    rounds,
    (contender) => {
      const isPeer = contender.name === 'peer';
      const some = isPeer && !options.wholePeer ? Math.ceil(peerWorkflows / channels) : posts;
      return measureInTime({ world, contender, channels }, Math.min(some, posts));
    },
    ({ name }, measured) => {
      if (rounds > 1) {
        stage.say(line(name, [measured]));
      }
    },
  );
}

/** Repeats a measurement when the machine was too busy to start the posts before they were due. */
async function measureInTime(stand: Stand, posts: number): Promise<Measured> {
  for (let left = 3; ; left -= 1) {
    try {
      return await measure(stand, posts);
    } catch (error) {
      if (!(error instanceof TooLateError) || left === 0) {
        throw error;
      }
    }
  }
}

function report(
  { stage: { say }, target }: Run<Options>,
  { posts, channels }: Case,
  results: Partial<Results<Contender['name'], Measured>>,
): void {
  const each = channels === 1 ? 'one channel' : `${channels} channels`;
  say(`\n${posts} posts due in the same second, ${each} each`);
  for (const [name, measured] of Object.entries(results)) {
    say(line(name, measured));
  }

  const { punctual, bare, peer } = results;
  const atLeast = (times: number | undefined, what: string, wanted: number): void => {
    if (times !== undefined) {
      target(`${times.toFixed(2)} ${what}; the target is ${wanted} at least`, times >= wanted);
    }
  };
  atLeast(timesTheRateOf(punctual, bare), "of the bare workflow's rate", targetShare);
  atLeast(timesTheRateOf(punctual, peer), "times the peer's rate", targetTimes(channels));
}

function line(name: string, results: readonly Measured[]): string {
  const of = (value: (one: Measured) => number): number => median(results.map(value));
  const cpu = (part: keyof Measured['cpu']): string =>
    of((one) => (one.cpu[part] * 1000) / one.posts)
      .toFixed(1)
      .padStart(5);
  return [
    `  ${name.padEnd(9)}${of((one) => one.perSecond)
      .toFixed(1)
      .padStart(6)} posts/s`,
    `lag p50 ${(of((one) => one.p50Ms) / 1000).toFixed(1)} s p99 ${(of((one) => one.p99Ms) / 1000).toFixed(1)} s`,
    `worker ${of((one) => one.cpu.worker).toFixed(1)} s ${of((one) => one.workerPeakMiB).toFixed(0)} MiB`,
    `CPU ms/post: worker ${cpu('worker')} Temporal ${cpu('temporal')} PostgreSQL ${cpu('postgres')} sandbox ${cpu('sandboxes')}`,
    `stolen ${(of((one) => one.stolen) * 100).toFixed(0)} %`,
    `(${results[0]?.posts} posts, ${results.length} round(s))`,
  ].join('   ');
}
