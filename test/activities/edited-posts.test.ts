import test from 'ava';
import type { PostInput } from '../../services/posts/post-request.ts';
import type { ClockedChannel } from '../support/claimed-posts.ts';
import { cannotTell, fails, fakeNetwork, interrupt, liveTexts } from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';
import type { PostSteps } from '../support/post-steps.ts';
import { storeFile } from '../support/seed-media.ts';

const minute = 60_000;
const { newSteps, newChannel } = onOneDatabase(test);

const newFile = ({ deps, workspaceId }: PostSteps, name: string) => {
  const file = { name, type: 'image/png', bytes: Buffer.from(name), width: 10, height: 10 };
  return storeFile(deps, workspaceId, file);
};

test('a thread keeps its live part: an edit that changes its text is refused', async (t) => {
  const network = fakeNetwork();
  const steps = await newSteps(t, { a: network });
  const channel = steps.channels['a'] ?? '';
  const { post, id } = await steps.begin({ thread: ['One', 'Two', 'Three'] });
  network.fates.push({ kind: 'taken' }, fails('network_unavailable'));
  await steps.attempt(post, id);
  await steps.cancel(post);
  const url = network.live[0]?.sent.url ?? '?';

  for (const edit of [{ thread: null, body: 'Else' }, { thread: ['Else', 'Two'] }]) {
    const error = await t.throwsAsync(steps.edit(post, { ...edit, schedule_in_minutes: 0 }));
    t.like(error, { code: 'invalid_content' });
    t.true(error?.message.includes(channel) && error.message.includes(url), error?.message);
  }

  await steps.edit(post, { thread: null, body: 'Else' });
  t.true((await steps.show(post)).warning?.includes(url));

  await steps.edit(post, { thread: ['One', 'Other'], schedule_in_minutes: 0 });
  t.notRegex((await steps.show(post)).warning ?? '', /is live/v);
  const [again] = (await steps.claimOrThrow(post)).targets;
  t.like(await steps.attempt(post, again?.postChannelId ?? ''), { status: 'published' });
  t.deepEqual(liveTexts(network), ['One', 'Other']);
});

test('a thread in doubt of a cancelled post keeps its parts that are or may be live', async (t) => {
  const [a, b] = [fakeNetwork(), fakeNetwork()];
  const steps = await newSteps(t, { a, b });
  const post = await steps.create({
    thread: ['One', 'Two', 'Three'],
    channel_ids: Object.values(steps.channels),
    schedule_in_minutes: 0,
  });
  a.fates.push({ kind: 'taken' }, { kind: 'vanished' });
  a.blind = cannotTell;
  b.fates.push(fails('network_unavailable'));
  const go = await steps.claimOrThrow(post);
  await steps.attemptAll(post, go);
  await steps.cancel(post);
  await steps.finalize(post, go);
  const scheduled = { schedule_in_minutes: 0, channel_bodies: {} };
  for (const [thread, message] of [
    [['New', 'Two', 'Three'], /Part 1 .* so its text must stay/v],
    [['One', 'New', 'Three'], /Part 2 .* so its text must stay/v],
    [['One', 'Two'], /keeps its number of parts \(3\)/v],
    [['One', 'Two', 'Three', 'Four'], /keeps its number of parts \(3\)/v],
  ] as const) {
    for (const edit of [{ thread }, { thread, ...scheduled }]) {
      await t.throwsAsync(steps.edit(post, edit), { code: 'invalid_content', message });
    }
  }

  await steps.edit(post, { thread: ['One', 'Two', 'New'], ...scheduled });
  steps.pass(10 * minute);
  await steps.settle(post, steps.channels['a'] ?? '', null);
  a.blind = undefined;
  const again = await steps.claimOrThrow(post);
  await steps.attemptAll(post, again);
  await steps.finalize(post, again);
  await steps.retry(post);
  await steps.attemptAll(post, await steps.claimOrThrow(post));
  t.deepEqual(liveTexts(a), ['One', 'Two', 'New']);
});

test('a live part keeps its files, and later parts may change theirs', async (t) => {
  const network = fakeNetwork();
  const steps = await newSteps(t, { a: network });
  const names = ['a.png', 'b.png', 'c.png'];
  const [a = '', b = '', c = ''] = await Promise.all(names.map((name) => newFile(steps, name)));
  const second = (...ids: string[]) => ({ text: 'Two', media_ids: ids });
  const { post, id } = await steps.begin({ thread: ['One', second(b)], media_ids: [a] });
  network.fates.push({ kind: 'taken' }, fails('network_unavailable'));
  await steps.attempt(post, id);
  await steps.cancel(post);
  await t.throwsAsync(steps.edit(post, { media_ids: [c] }), {
    code: 'invalid_content',
    message: /Part 1 of the post is live .*so its files must stay as they are\./v,
  });

  await steps.edit(post, { thread: ['One', second(c, b)], schedule_in_minutes: 0 });
  const [again] = (await steps.claimOrThrow(post)).targets;
  t.like(await steps.attempt(post, again?.postChannelId ?? ''), { status: 'published' });
  t.deepEqual(
    network.sentFiles.map((files) => files.map((file) => file.slice(0, 5))),
    [['a.png'], ['b.png'], ['c.png', 'b.png']],
  );
});

test('after an edit of a cancelled post, a channel that has it shows what is live there', async (t) => {
  const [thread, more] = [
    ['One', 'Two'],
    ['One', 'Two', 'Three'],
  ];
  for (const [content, refused, edit] of [
    [{ thread }, [{ thread: ['One', 'Else'] }, { thread: more }], { alt_texts: {} }],
    [{ body: 'One' }, [{ thread }], { body: 'Else' }],
  ] as const) {
    const [a, b] = [fakeNetwork(), fakeNetwork()];
    const steps = await newSteps(t, { a, b });
    const id = await newFile(steps, 'a.png');
    const { post, go } = await steps.begin(content);
    b.fates.push(fails('network_unavailable'));
    await steps.attemptAll(post, go);
    await steps.cancel(post);
    for (const change of [...refused, { media_ids: [id] }]) {
      const message = /so it keeps its number|must stay as/v;
      await t.throwsAsync(steps.edit(post, change), { code: 'invalid_content', message });
    }

    const own = { channel_media: { [steps.channels['b'] ?? '']: [{ media_id: id }] } };
    await steps.edit(post, { ...edit, ...own, schedule_in_minutes: 0 });
    const shown = await steps.show(post);
    t.is(shown.channels[0]?.body, 'One');
    t.regex(shown.warning ?? '', /has the post as it was/v);
  }
});

test('an edit that changes a part which is being sent, or adds one, is refused', async (t) => {
  for (const [content, thread] of [
    [{ thread: ['One', 'Two'] }, ['Else', 'Other']],
    [{ body: 'One', thread: null }, ['One', 'Other']],
  ] as const) {
    const network = fakeNetwork();
    const steps = await newSteps(t, { a: network });
    const file = await newFile(steps, 'a.png');
    const { post, id } = await steps.begin(content);
    interrupt(network, 'send', async () => {
      await steps.cancel(post);
      const now = { schedule_in_minutes: 0 };
      const channel_options = { [steps.channels['a'] ?? '']: { note: 'Else' } };
      const [files, texts] = [{ media_ids: [file] }, { thread: ['One', 'Other'] }];
      const all = [{ thread, ...now }, texts, files, { ...files, ...now }, { channel_options }];
      for (const change of all) {
        const refused = { code: 'invalid_content', message: /may be live, so it/v };
        await t.throwsAsync(steps.edit(post, change), refused, JSON.stringify(change));
      }

      await steps.edit(post, { tags: ['new'] });
      t.regex((await steps.show(post)).warning ?? '', /is being sent as it was/v);
    });
    t.like(await steps.attempt(post, id), { status: 'published' });
    t.deepEqual(liveTexts(network), content.thread ?? ['One']);
  }
});

const other = { thread: ['One', 'Other', 'Rest'], schedule_in_minutes: 0 };
const single = { thread: null, body: 'Whole', schedule_in_minutes: 0 };
const later = { schedule_in_minutes: 600 };
/**
 * Each case cancels and reschedules the thread One Two Three in a step of its first attempt, and names the texts sent
 * then.
 */
const cases: readonly {
  step: 'prepare' | 'upload' | 'send';
  edit: PostInput;
  atOnce: string;
  atLast: string;
}[] = [
  { step: 'prepare', edit: single, atOnce: '', atLast: 'Whole' },
  { step: 'upload', edit: single, atOnce: '', atLast: 'Whole' },
  { step: 'upload', edit: later, atOnce: '', atLast: 'One Two Three' },
  { step: 'send', edit: other, atOnce: 'One', atLast: 'One Other Rest' },
  { step: 'send', edit: later, atOnce: 'One', atLast: 'One Two Three' },
];

for (const { step, edit, atOnce, atLast } of cases) {
  const how = edit === later ? 'only scheduled for later' : `edited to "${atLast}"`;
  test(`a thread that is cancelled during its first ${step} and ${how} goes out as one version, "${atOnce}" at once`, async (t) => {
    const network = fakeNetwork();
    const steps = await newSteps(t, { a: network });
    const { post, id } = await steps.begin({ thread: ['One', 'Two', 'Three'] });
    interrupt(network, step, async () => {
      await steps.cancel(post);
      await steps.edit(post, edit);
    });
    const live = (): string => liveTexts(network).join(' ');
    const first = steps.attempt(post, id);
    await t.throwsAsync(first, { name: 'SupersededError' });
    t.is(live(), atOnce);

    steps.pass(600 * 60_000);
    for (const { postChannelId } of (await steps.claimOrThrow(post)).targets) {
      t.like(await steps.attempt(post, postChannelId), { status: 'published' });
    }

    t.is((await steps.show(post)).channels[0]?.status, 'published');

    t.is(live(), atLast);
  });
}

test('a post is sent with its current text once its earlier send is known to have failed', async (t) => {
  const network = fakeNetwork(minute);
  const channel = await newChannel(t, network);
  const post = await channel.newPost(['Hello']);
  network.fates.push({ kind: 'vanished' });
  t.like(await post.attempt(), { kind: 'again' });

  await scheduleAnew(channel, post.postId, 'Better');
  channel.pass(2 * minute);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });

  t.deepEqual(liveTexts(network), ['Better']);
});

/** Changes the rows as a cancel, an edit and a new time do. */
async function scheduleAnew({ deps }: ClockedChannel, postId: string, body: string): Promise<void> {
  await deps.orm.em
    .fork()
    .execute('update posts set run = run + 1, body = ? where id = ?', [body, postId]);
}
