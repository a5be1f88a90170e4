import test from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { fakeNetwork } from '../support/fake-network.ts';
import { postLife, type Go } from '../support/post-life.ts';

const fails = (code: NetworkError['code']) =>
  ({
    kind: 'fails',
    error: new NetworkError(code, `They said ${code}.`, { taken: 'no' }),
  }) as const;

const superseded = { name: 'SupersededError' };

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
  await t.throwsAsync(life.attempt(post, targets[0]?.postChannelId ?? ''), superseded);
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

const single = { thread: null, body: 'Whole', schedule_in_minutes: 0 };
const later = { schedule_in_minutes: 600 };
const otherRest = { thread: ['One', 'Other', 'Rest'], schedule_in_minutes: 0 };
/** A thread is cancelled in the middle of its first send and scheduled anew: at what moment, how, and what goes out. */
const midway = [
  { during: 'freeze', edit: single, atOnce: [], afterwards: ['Whole'] },
  { during: 'upload', edit: single, atOnce: [], afterwards: ['Whole'] },
  { during: 'upload', edit: later, atOnce: [], afterwards: ['One', 'Two', 'Three'] },
  { during: 'send', edit: otherRest, atOnce: ['One'], afterwards: ['One', 'Other', 'Rest'] },
  { during: 'send', edit: later, atOnce: ['One', 'Two', 'Three'], afterwards: [] },
] as const;

for (const { during, edit, atOnce, afterwards } of midway) {
  const how = Object.keys(edit).length > 1 ? 'edited and scheduled anew' : 'scheduled for later';
  const what = afterwards.length > 0 ? `goes out as "${afterwards.join(' ')}"` : 'is finished';
  test(`a thread that was ${how} during its first ${during} ${what}, never as a mixture`, async (t) => {
    const network = fakeNetwork();
    const life = await postLife(t, { a: network });
    const post = await life.create({
      thread: ['One', 'Two', 'Three'],
      channel_ids: Object.values(life.channels),
      schedule_in_minutes: 0,
    });
    const [target] = ((await life.claim(post)) as Go).targets;
    const original = { ...network };
    const meanwhile = async (): Promise<void> => {
      Object.assign(network, { [during]: original[during] });
      await life.cancel(post);
      await life.edit(post, {
        ...edit,
        ...('thread' in edit && { thread: edit.thread && [...edit.thread] }),
      });
    };
    const wrapped = original[during] as (...args: unknown[]) => Promise<unknown>;
    Object.assign(network, {
      [during]: async (...args: unknown[]) => {
        await meanwhile();
        return wrapped(...args);
      },
    });
    const live = (): string[] => network.live.map(({ text }) => text);
    const first = life.attempt(post, target?.postChannelId ?? '');
    await (afterwards.length > 0 ? t.throwsAsync(first, superseded) : first);
    t.deepEqual(live(), [...atOnce]);

    life.pass(600 * 60_000);
    for (const { postChannelId } of ((await life.claim(post)) as Go).targets) {
      t.like(await life.attempt(post, postChannelId), { status: 'published' });
    }

    t.deepEqual(live(), afterwards.length > 0 ? [...afterwards] : [...atOnce]);
  });
}
