import test from 'ava';
import { CancelledFailure } from '@temporalio/common';
import { sweep } from '../../activities/sweep/sweep.ts';
import { down, fails, fakeNetwork, interrupt } from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';

// Faults that a review found and that are not mended yet. Each test says what is promised, and fails: ava reports it
// when it passes. Then it moves to the file that it belongs to.

const minute = 60_000;
const { newSteps } = onOneDatabase(test);

/** A post that is being sent to one channel. */
async function claimed(t: Parameters<typeof newSteps>[0]) {
  const network = fakeNetwork(minute);
  const steps = await newSteps(t, { a: network });
  await steps.subscribe('post.published', 'post.partial', 'post.failed');
  const channel_ids = Object.values(steps.channels);
  const post = await steps.create({ body: 'Hello', channel_ids, schedule_in_minutes: 0 });
  const go = await steps.mustClaim(post);
  return { network, steps, post, go, id: go.targets[0]?.postChannelId ?? '' };
}

test.failing(
  'a post that is in doubt, cancelled, moved and cancelled again is still looked for',
  async (t) => {
    const { network, steps, post, go, id } = await claimed(t);
    network.fates.push({ kind: 'lost' }); // It is on the network, and its answer was lost.
    network.blind = down;
    await steps.attempt(post, id);
    await steps.cancel(post);
    await steps.finalize(post, go, { canceled: true, heard: 2 });
    await steps.edit(post, { schedule_in_minutes: 600 });

    t.is(await steps.cancel(post), 1);
    t.not((await steps.show(post)).channels[0]?.status, 'draft');
  },
);

test.failing(
  'a post that lands after a cancel and a new time ends as published, whatever is asked then',
  async (t) => {
    const { network, steps, post, go, id } = await claimed(t);
    interrupt(network, 'send', async () => {
      await steps.cancel(post);
      await steps.edit(post, { schedule_in_minutes: 600 });
    });
    await steps.attempt(post, id);
    await steps.finalize(post, go, { canceled: false, heard: 3 });
    await steps.cancel(post).catch(() => undefined);

    t.deepEqual(await steps.events(post), ['post.published']);
  },
);

test.failing(
  'a try that stands between its intent and its request is counted by each cancel',
  async (t) => {
    const { network, steps, post, go, id } = await claimed(t);
    let counted = -1;
    interrupt(network, 'send', async () => {
      await steps.cancel(post);
      await steps.edit(post, { schedule_in_minutes: 600 });
      await steps.finalize(post, go, { canceled: false, heard: 3 });
      counted = await steps.cancel(post);
    });
    await steps.attempt(post, id);

    t.is(counted, 1);
  },
);

test.failing(
  'a channel whose worker died after a cancel is looked for when the post has a new time, and not a month later',
  async (t) => {
    const { network, steps, post, go, id } = await claimed(t);
    const { send } = network;
    network.send = async (...args) => {
      network.send = send;
      await send(...args);
      await steps.cancel(post);
      throw new CancelledFailure('The worker is gone.');
    };
    await t.throwsAsync(steps.attempt(post, id));
    await steps.finalize(post, go, { canceled: true, heard: 2 });
    await steps.edit(post, { schedule_in_minutes: 60 * 24 * 30 });

    t.not((await steps.show(post)).channels[0]?.status, 'publishing');
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
