import test from 'ava';
import { fakeNetwork, liveTexts } from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';

const minute = 60_000;
const { newSteps } = onOneDatabase(test);

test('of two posts with one text, one that got lost does not take what the other is just creating', async (t) => {
  const network = fakeNetwork(minute);
  const steps = await newSteps(t, { a: network });
  const channel_ids = Object.values(steps.channels);
  const begin = async () => {
    const post = await steps.create({ body: 'Hello', channel_ids, schedule_in_minutes: 0 });
    const go = await steps.mustClaim(post);
    return { post, go, id: go.targets[0]?.postChannelId ?? '' };
  };
  const lost = await begin();
  network.fates.push({ kind: 'vanished' });
  t.like(await steps.attempt(lost.post, lost.id), { kind: 'again' });
  steps.pass(2 * minute);

  const other = await begin();
  const { send } = network;
  network.send = async (...args) => {
    network.send = send;
    const sent = await send(...args);
    t.like(await steps.attempt(lost.post, lost.id), { kind: 'again', code: 'network_unavailable' });
    return sent; // Only now it hears that the network has it.
  };
  t.like(await steps.attempt(other.post, other.id), { kind: 'done', status: 'published' });
  steps.pass(2 * minute);
  t.like(await steps.attempt(lost.post, lost.id), { kind: 'done', status: 'published' });

  t.deepEqual(liveTexts(network), ['Hello', 'Hello']);
  const urls = await Promise.all(
    [lost, other].map(async ({ post }) => (await steps.show(post)).channels[0]?.url),
  );
  t.is(new Set(urls).size, 2);
  t.is(urls[1], network.live[0]?.sent.url);
});
