import test, { type ExecutionContext } from 'ava';
import { sweep } from '../../activities/sweep/sweep.ts';
import { down, fails, fakeNetwork, interrupt, liveTexts } from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';

// Faults that a review found and that are not mended yet. Each test says what is promised, and fails: ava reports it
// when it passes. Then it moves to the file that it belongs to.

const minute = 60_000;
const { newSteps } = onOneDatabase(test);

/** A post that is being sent to one channel. */
async function claimed(t: ExecutionContext) {
  const network = fakeNetwork(minute);
  const steps = await newSteps(t, { a: network });
  await steps.subscribe('post.published', 'post.partial', 'post.failed');
  const channel_ids = Object.values(steps.channels);
  const post = await steps.create({ body: 'Hello', channel_ids, schedule_in_minutes: 0 });
  const go = await steps.mustClaim(post);
  return { network, steps, post, go, id: go.targets[0]?.postChannelId ?? '' };
}

test.failing(
  'in doubt, cancelled, moved and cancelled again, it is counted, found on the network and ends as published',
  async (t) => {
    const { network, steps, post, go, id } = await claimed(t);
    network.fates.push({ kind: 'lost' }); // It is on the network, and its answer was lost.
    network.blind = down;
    await steps.attempt(post, id);
    t.is(await steps.cancel(post), 1);
    await steps.finalize(post, go, { canceled: true, heard: 2 });
    await steps.edit(post, { schedule_in_minutes: 600 });
    t.is((await steps.show(post)).channels[0]?.status, 'scheduled');

    t.is(await steps.cancel(post), 1);
    t.is((await steps.show(post)).channels[0]?.status, 'retrying');
    network.blind = undefined;
    steps.pass(10 * minute);
    const again = await steps.mustClaim(post);
    await steps.attempt(post, id);
    await steps.finalize(post, again, { canceled: true, heard: 4 });

    const { status, channels } = await steps.show(post);
    t.is(status, 'published');
    t.is(channels[0]?.status, 'published');
    t.deepEqual(liveTexts(network), ['Hello']);
    t.deepEqual(await steps.events(post), ['post.published']);
  },
);

test.failing(
  'a try that stands between its intent and its request is counted by each cancel',
  async (t) => {
    const { network, steps, post, go, id } = await claimed(t);
    const counted: number[] = [];
    interrupt(network, 'send', async () => {
      counted.push(await steps.cancel(post));
      await steps.edit(post, { schedule_in_minutes: 600 });
      await steps.finalize(post, go, { canceled: false, heard: 3 });
      counted.push(await steps.cancel(post));
    });
    await steps.attempt(post, id);

    t.deepEqual(counted, [1, 1]);
  },
);

test.failing(
  'a publishing post whose workflow sleeps again after a reset is told of anew',
  async (t) => {
    const { network, steps, post, id } = await claimed(t);
    network.fates.push(fails('network_unavailable'));
    await steps.attempt(post, id);
    const em = steps.deps.orm.em.fork();
    await em.execute('update posts set synced_revision = revision where id = ?', [post]);
    const workflows = { ...steps.deps.workflows, ofPost: async () => 'running' as const };
    const isTold = async (): Promise<boolean> => {
      const sql = 'select 1 from posts where id = ? and revision > synced_revision';
      return (await em.execute<unknown[]>(sql, [post])).length > 0;
    };
    for (let minutes = 0; minutes < 40 && !(await isTold()); minutes += 1) {
      steps.pass(minute);
      await sweep({ ...steps.deps, workflows });
    }

    t.true(await isTold());
  },
);
