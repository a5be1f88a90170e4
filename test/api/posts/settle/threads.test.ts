import test from 'ava';
import { type Doubt, doubt, there } from './doubt.ts';

const thread = ['One', 'Two', 'Three'];
const texts = ({ mute }: Doubt): string[] => mute.live.map(({ text }) => text);

test('a thread whose last part was found is published, at the address of its first', async (t) => {
  const world = await doubt(t);
  const { life, channels, mute } = world;
  const post = await world.doubtful({ thread }, { takenBefore: 2 });
  await life.settle(post, channels.mute, there);
  const shown = await life.show(post);
  t.is(shown.status, 'published');
  t.like(shown.channels[0], { status: 'published', url: mute.live[0]?.sent.url, body: 'One' });
  t.deepEqual(texts(world), thread);
});

test('a thread that ends at the part that was found is no published one, and only a retry goes on with it', async (t) => {
  const world = await doubt(t);
  const { life, channels, mute, goOn } = world;
  const post = await world.doubtful({ thread }, { takenBefore: 1 });

  await life.settle(post, channels.mute, there);

  const [channel] = (await life.show(post)).channels;
  t.like(channel, { status: 'failed', error_code: 'not_published' });
  t.is(
    channel?.error,
    `Somebody looked, and the network has 2 of 3 parts; a retry sends the others. Live: ${mute.live[0]?.sent.url} ${there}`,
  );
  t.deepEqual(texts(world), ['One', 'Two']);
  await life.settle(post, channels.mute, there); // The same answer once more.

  await life.retry(post);
  await goOn(post);
  t.deepEqual(texts(world), thread);
  t.is(mute.sends.length, 3);
  t.like(await life.show(post), { status: 'published', summary: { published: 1 } });
});

test('where the part that was found does not come to light, nothing is put after it, and it is not sent again', async (t) => {
  const world = await doubt(t);
  const { life, channels, mute, goOn } = world;
  const post = await world.doubtful({ thread }, { takenBefore: 1 });
  mute.live.pop();
  await life.settle(post, channels.mute, there);
  for (let round = 0; round < 2; round += 1) {
    await life.retry(post);
    await goOn(post);
    const [channel] = (await life.show(post)).channels;
    t.like(channel, { status: 'failed', error_code: 'not_published' });
    t.regex(channel?.error ?? '', /nothing can be put after it/v);
    t.deepEqual(texts(world), ['One']);
    t.is(mute.sends.length, 2);
  }
});

test('of a thread whose part is not there a retry sends what is missing, and no more', async (t) => {
  const world = await doubt(t);
  const { life, channels, mute, goOn } = world;
  const post = await world.doubtful({ thread }, { takenBefore: 1 });
  mute.live.pop();

  await life.settle(post, channels.mute, null);

  const [channel] = (await life.show(post)).channels;
  t.is(
    channel?.error,
    `Somebody looked, and the network has only 1 of 3 parts; a retry sends the others. Live: ${mute.live[0]?.sent.url}`,
  );
  await life.retry(post);
  await goOn(post);
  t.deepEqual(texts(world), thread);
  t.is(mute.sends.length, 4);
  t.like((await life.show(post)).channels[0], { status: 'published', url: mute.live[0]?.sent.url });
});
