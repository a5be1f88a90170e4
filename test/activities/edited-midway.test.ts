import test from 'ava';
import type { EditPostBody } from '../../api/posts/schemas.ts';
import { NetworkError } from '../../networks/network.ts';
import { fakeNetwork, type FakeNetwork } from '../support/networks.ts';
import { postLife, type Go } from '../support/post-life.ts';

const fails = (code: NetworkError['code']) =>
  ({
    kind: 'fails',
    error: new NetworkError(code, `They said ${code}.`, { taken: 'no' }),
  }) as const;

test('a post that was edited while a try of it prepared to send never goes out with its old text afterwards', async (t) => {
  const network = fakeNetwork();
  const life = await postLife(t, { a: network, b: network });
  const channelIds = Object.values(life.channels);
  const post = await life.create({
    body: 'Old',
    channel_ids: channelIds,
    schedule_in_minutes: 0,
  });
  const { targets } = (await life.claim(post)) as Go;
  const { freeze } = network;
  network.freeze = async (...args) => {
    network.freeze = freeze;
    await life.cancel(post);
    await life.edit(post, { body: 'New', schedule_in_minutes: 0 });
    return freeze(...args);
  };
  await t.throwsAsync(life.attempt(post, targets[0]?.postChannelId ?? ''), {
    name: 'SupersededError',
  });
  t.deepEqual(network.live, []);

  const again = (await life.claim(post)) as Go;
  for (const { postChannelId } of again.targets) {
    t.like(await life.attempt(post, postChannelId), { status: 'published' });
  }

  t.deepEqual(
    network.live.map(({ text }) => text),
    ['New', 'New'],
  );
});

test('a thread of which a part is live keeps that part: another text for it is no post that can go out', async (t) => {
  const network = fakeNetwork();
  const life = await postLife(t, { a: network });
  const channel = life.channels['a'] ?? '';
  const post = await life.create({
    thread: ['One', 'Two', 'Three'],
    channel_ids: [channel],
    schedule_in_minutes: 0,
  });
  const [target] = ((await life.claim(post)) as Go).targets;
  network.fates.push({ kind: 'taken' }, fails('network_unavailable'));
  await life.attempt(post, target?.postChannelId ?? '');
  await life.cancel(post);
  const url = network.live[0]?.sent.url ?? '?';

  for (const edit of [{ thread: null, body: 'Else' }, { thread: ['Else', 'Two'] }]) {
    const error = await t.throwsAsync(life.edit(post, { ...edit, schedule_in_minutes: 0 }));
    t.like(error, { code: 'invalid_content' });
    t.true(error?.message.includes(channel) && error.message.includes(url), error?.message);
  }

  await life.edit(post, { thread: null, body: 'Else' });
  t.true((await life.show(post)).warning?.includes(url));

  await life.edit(post, { thread: ['One', 'Other'], schedule_in_minutes: 0 });
  t.is((await life.show(post)).warning, null);
  const [again] = ((await life.claim(post)) as Go).targets;
  t.like(await life.attempt(post, again?.postChannelId ?? ''), { status: 'published' });
  t.deepEqual(
    network.live.map(({ text }) => text),
    ['One', 'Other'],
  );
});

test('while a part of a thread is being sent, the thread cannot become another one below it', async (t) => {
  const network = fakeNetwork();
  const life = await postLife(t, { a: network });
  const channel = life.channels['a'] ?? '';
  const post = await life.create({
    thread: ['One', 'Two'],
    channel_ids: [channel],
    schedule_in_minutes: 0,
  });
  const [target] = ((await life.claim(post)) as Go).targets;
  const { send } = network;
  network.send = async (...args) => {
    network.send = send;
    await life.cancel(post);
    const change = { thread: ['Else', 'Other'], schedule_in_minutes: 0 };
    const error = await t.throwsAsync(life.edit(post, change));
    t.like(error, { code: 'invalid_content' });
    t.true(error?.message.includes(channel) && error.message.includes('is being sent'));
    return send(...args);
  };
  t.like(await life.attempt(post, target?.postChannelId ?? ''), { status: 'published' });
  t.deepEqual(
    network.live.map(({ text }) => text),
    ['One', 'Two'],
  );
});

/** Something happens within the first call of one of the network's steps. */
function interrupt(
  network: FakeNetwork,
  step: 'freeze' | 'upload' | 'send',
  act: () => Promise<void>,
): void {
  const original = network[step] as (...args: unknown[]) => Promise<unknown>;
  const interrupted = async (...args: unknown[]): Promise<unknown> => {
    Object.assign(network, { [step]: original });
    await act();
    return original(...args);
  };
  Object.assign(network, { [step]: interrupted });
}

const other = { thread: ['One', 'Other', 'Rest'], schedule_in_minutes: 0 };
const single = { thread: null, body: 'Whole', schedule_in_minutes: 0 };
const later = { schedule_in_minutes: 600 };
/** The thread One Two Three is cancelled within a step of its first try and scheduled anew: what goes out then. */
const cases: readonly {
  step: 'freeze' | 'upload' | 'send';
  edit: EditPostBody;
  atOnce: string;
  atLast: string;
}[] = [
  { step: 'freeze', edit: single, atOnce: '', atLast: 'Whole' },
  { step: 'upload', edit: single, atOnce: '', atLast: 'Whole' },
  { step: 'upload', edit: later, atOnce: '', atLast: 'One Two Three' },
  { step: 'send', edit: other, atOnce: 'One', atLast: 'One Other Rest' },
  { step: 'send', edit: later, atOnce: 'One Two Three', atLast: 'One Two Three' },
];

for (const { step, edit, atOnce, atLast } of cases) {
  const how = edit === later ? 'only scheduled for later' : `edited to "${atLast}"`;
  test(`a thread that is cancelled during its first ${step} and ${how} goes out as one version, "${atOnce}" at once`, async (t) => {
    const network = fakeNetwork();
    const life = await postLife(t, { a: network });
    const post = await life.create({
      thread: ['One', 'Two', 'Three'],
      channel_ids: Object.values(life.channels),
      schedule_in_minutes: 0,
    });
    const [target] = ((await life.claim(post)) as Go).targets;
    interrupt(network, step, async () => {
      await life.cancel(post);
      await life.edit(post, edit);
    });
    const live = (): string => network.live.map(({ text }) => text).join(' ');
    const first = life.attempt(post, target?.postChannelId ?? '');
    await (atOnce === atLast ? first : t.throwsAsync(first, { name: 'SupersededError' }));
    t.is(live(), atOnce);

    life.pass(600 * 60_000);
    for (const { postChannelId } of ((await life.claim(post)) as Go).targets) {
      t.like(await life.attempt(post, postChannelId), { status: 'published' });
    }

    t.is(live(), atLast);
  });
}

test("a channel's own text that is changed while the old one is about to be sent is what goes out", async (t) => {
  const network = fakeNetwork();
  const life = await postLife(t, { a: network });
  const channel = life.channels['a'] ?? '';
  const post = await life.create({
    body: 'For all',
    channel_bodies: { [channel]: 'Old' },
    channel_ids: [channel],
    schedule_in_minutes: 0,
  });
  const [target] = ((await life.claim(post)) as Go).targets;
  interrupt(network, 'upload', async () => {
    await life.cancel(post);
    await life.edit(post, { channel_bodies: { [channel]: 'New' }, schedule_in_minutes: 0 });
  });
  await t.throwsAsync(life.attempt(post, target?.postChannelId ?? ''), { name: 'SupersededError' });

  const [again] = ((await life.claim(post)) as Go).targets;
  t.like(await life.attempt(post, again?.postChannelId ?? ''), { status: 'published' });
  t.deepEqual(
    network.live.map(({ text }) => text),
    ['New'],
  );
});
