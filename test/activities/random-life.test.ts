import test from 'ava';
import { freshDatabase } from '../support/database.ts';
import { addFakeChannel } from '../support/seed.ts';
import { Being } from '../support/random-life/being.ts';
import { calm, makeLifeWorld, type LifeWorld } from '../support/random-life/life-world.ts';
import { seeded, type Random } from '../support/random-life/random.ts';

// `PUNCTUAL_TEST_SEED=… npx ava test/activities/random-life.test.ts` lives other lives, and one life alone with
// `PUNCTUAL_TEST_LIVES=1`.
const firstSeed = Number(process.env['PUNCTUAL_TEST_SEED'] ?? 1);
const lives = Number(process.env['PUNCTUAL_TEST_LIVES'] ?? 200);

test('whatever its owner, the networks, hanging workers and lost messages do, a post goes out at most once, and never gets lost', async (t) => {
  t.timeout(10 * 60_000);
  const world = await makeLifeWorld(t, ['a', 'b', 'c'], (await freshDatabase(t)).url);
  const ends = new Map<string, number>();
  for (let seed = firstSeed; seed < firstSeed + lives; seed++) {
    const log: string[] = [];
    try {
      const end = await live(world, seeded(seed), log);
      ends.set(end, (ends.get(end) ?? 0) + 1);
    } catch (error) {
      t.log(`PUNCTUAL_TEST_SEED=${seed} PUNCTUAL_TEST_LIVES=1`);
      t.log(log.join('\n'));
      throw error;
    }
  }

  t.true(ends.size > Math.min(lives, 30) / 2, JSON.stringify(Object.fromEntries(ends)));
});

/** One post from its creation to its rest. @returns how it rests. @throws Error with the first thing that is wrong. */
async function live(world: LifeWorld, random: Random, log: string[]): Promise<string> {
  const { life, networks, mood } = world;
  for (const network of Object.values(networks)) {
    Object.assign(network, { live: [], late: [] });
    await addFakeChannel(life.deps, life.workspaceId, network.id); // Connected anew: no access is lost.
  }

  Object.assign(mood, { random, ...calm });
  life.told.length = 0;
  const post = await life.create({
    ...(random.chance(0.5) ? { body: 'first' } : { thread: ['first.0', 'first.1', 'first.2'] }),
    channel_ids: Object.values(life.channels),
    ...(random.chance(0.8) && { schedule_in_minutes: 0 }),
  });
  const being = new Being(world, post, random, log);
  for (let step = 0; step < 30; step++) {
    await being.step();
  }

  return being.rest();
}
