import { median } from '../quantile.ts';
import { contenders } from './contenders.ts';
import type { Contender } from './contender.ts';
import { measure, TooLateError, type Measured, type Stand } from './measure.ts';
import type { World } from './world.ts';

/** Of the bare workflow's posts per second, at least. */
const targetShare = 0.8;

/** Times the peer's posts per second, at least: with one channel, and with more, where it runs a workflow for each. */
const targetTimes = (channels: number): number => (channels === 1 ? 5 : 10);

/**
 * How many workflows of the peer are run at most, unless it is to run them all: at a few posts a second they would take
 * most of an hour. More than a worker has in its cache would favour ours, as they would fall out of it between steps.
 */
const peerWorkflows = 300;

type Case = { readonly posts: number; readonly channels: number };
type Results = Readonly<Record<Contender['name'], readonly Measured[]>>;

/** Every case, one after the other. @returns whether each target was met. */
export async function compare(world: World): Promise<boolean> {
  const { posts, channels } = world.options;
  const met: boolean[] = [];
  for (const one of posts.flatMap((n) => channels.map((c) => ({ posts: n, channels: c })))) {
    met.push(report(world, one, await runRounds(world, one)));
  }

  return met.every(Boolean);
}

/** By turns, so that whatever else the machine does meets all of them. */
async function runRounds(world: World, { posts, channels }: Case): Promise<Results> {
  const { options } = world;
  const results = { punctual: [] as Measured[], bare: [] as Measured[], peer: [] as Measured[] };
  const rounds = options.rounds ?? (posts > 500 ? 1 : 3);
  const taking = contenders.filter(({ name }) => options.contenders.includes(name));
  for (let round = 0; round < rounds; round += 1) {
    for (const contender of round % 2 === 0 ? taking : taking.toReversed()) {
      const isPeer = contender.name === 'peer';
      const some = isPeer && !options.wholePeer ? Math.ceil(peerWorkflows / channels) : posts;
      const stand = { world, contender, channels };
      const measured = await measureInTime(stand, Math.min(some, posts));
      if (rounds > 1) {
        world.stage.say(line(contender.name, [measured]));
      }

      results[contender.name].push(measured);
    }
  }

  return results;
}

/** Again, while the machine is too busy to start the posts before they are due. */
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

function report(world: World, { posts, channels }: Case, results: Results): boolean {
  const { say } = world.stage;
  say(
    `\n${posts} posts due in the same second, ${channels === 1 ? 'one channel' : `${channels} channels`} each`,
  );
  for (const [name, measured] of Object.entries(results)) {
    if (measured.length > 0) {
      say(line(name, measured));
    }
  }

  const { punctual, bare, peer } = results;
  // Each beside what was measured right before or after it.
  const share = median(punctual.map((one, round) => one.perSecond / rateOf(bare[round])));
  const times = median(punctual.map((one, round) => one.perSecond / rateOf(peer[round])));
  const wanted = targetTimes(channels);
  return [
    verdict(world, "of the bare workflow's rate", share, targetShare),
    verdict(world, "times the peer's rate", times, wanted),
  ].every(Boolean);
}

/** NaN of nothing, when only some are measured. */
const rateOf = (measured: Measured | undefined): number => measured?.perSecond ?? Number.NaN;

/** @returns whether it is met, or cannot be told. */
function verdict({ stage }: World, what: string, value: number, target: number): boolean {
  if (Number.isNaN(value)) {
    return true;
  }

  const met = value >= target;
  stage.say(`  ${value.toFixed(2)} ${what}, target ${target} at least: ${met ? 'met' : 'MISSED'}`);
  return met;
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
