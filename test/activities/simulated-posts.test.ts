import test from 'ava';
import { freshDatabase } from '../support/database.ts';
import { addFakeChannel } from '../support/seed.ts';
import { SimulatedPost } from '../support/simulation/simulated-post.ts';
import { uneventful, startSimulation, type Simulation } from '../support/simulation/simulation.ts';
import { seeded, type Random } from '../support/simulation/random.ts';

// `PUNCTUAL_TEST_SEED=… ava test/activities/simulated-posts.test.ts` simulates other posts; add `PUNCTUAL_TEST_POSTS=1`
// for a single post.
const firstSeed = Number(process.env['PUNCTUAL_TEST_SEED'] ?? 1);
const posts = Number(process.env['PUNCTUAL_TEST_POSTS'] ?? 100);

test('a post goes out at most once and always ends, whatever its owner, the networks, hanging workers and lost messages do', async (t) => {
  t.timeout(10 * 60_000);
  const world = await startSimulation(t, ['a', 'b', 'c'], (await freshDatabase(t)).url);
  const ends = new Map<string, number>();
  for (let seed = firstSeed; seed < firstSeed + posts; seed++) {
    const log: string[] = [];
    try {
      const end = await simulate(world, seeded(seed), log);
      ends.set(end, (ends.get(end) ?? 0) + 1);
    } catch (error) {
      t.log(`PUNCTUAL_TEST_SEED=${seed} PUNCTUAL_TEST_POSTS=1`);
      t.log(log.join('\n'));
      throw error;
    }
  }

  t.true(ends.size > Math.min(posts, 30) / 2, JSON.stringify(Object.fromEntries(ends)));
});

/**
 * Simulates one post from its creation to its final state. @returns that state. @throws Error with the first violation.
 */
async function simulate(world: Simulation, random: Random, log: string[]): Promise<string> {
  const { steps, networks, behaviour } = world;
  for (const network of Object.values(networks)) {
    Object.assign(network, { live: [], late: [] });
    await addFakeChannel(steps.deps, steps.workspaceId, network.id); // Reconnected, so that no access is lost.
  }

  Object.assign(behaviour, { random, ...uneventful });
  steps.messages.length = 0;
  const post = await steps.create({
    ...(random.chance(0.5) ? { body: 'first' } : { thread: ['first.0', 'first.1', 'first.2'] }),
    channel_ids: Object.values(steps.channels),
    ...(random.chance(0.8) && { schedule_in_minutes: 0 }),
  });
  const simulated = new SimulatedPost(world, post, random, log);
  for (let step = 0; step < 30; step++) {
    await simulated.step();
  }

  return simulated.rest();
}
