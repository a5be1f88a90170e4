import test from 'ava';
import { stillArrivingMs } from '../../../../api/posts/settle-post.ts';
import { networks } from '../../../../networks/index.ts';
import { NetworkError } from '../../../../networks/network.ts';
import { doubt, minute, there } from './doubt.ts';

const elsewhere = 'https://social.test/@ana/2';

test('a post that somebody found is published where they found it, since it was sent, with a new event', async (t) => {
  const { life, channels, doubtful, mute } = await doubt(t);
  const post = await doubtful({ body: 'Hello' });
  t.like(await life.show(post), { status: 'failed', published_at: null });
  const sentAt = new Date(life.deps.now().getTime() - 2 * minute).toISOString();

  await life.settle(post, channels.mute, there);

  const shown = await life.show(post);
  t.like(shown, { status: 'published', published_at: sentAt });
  const settled = { status: 'published', url: there, error: null, error_code: null, body: 'Hello' };
  t.like(shown.channels[0], settled);
  t.deepEqual(await life.events(post), ['post.failed', 'post.published']);
  await t.throwsAsync(life.retry(post), { code: 'nothing_to_retry' });
  t.is(mute.sends.length, 1);
});

test('a post that is not there has failed, with a new event, and a retry sends it once', async (t) => {
  const { life, channels, doubtful, goOn, mute } = await doubt(t);
  const post = await doubtful({ body: 'Hello' });
  mute.live.pop();

  await life.settle(post, channels.mute, null);

  const shown = await life.show(post);
  t.like(shown, { status: 'failed', published_at: null });
  t.like(shown.channels[0], { status: 'failed', url: null, error_code: 'not_published' });
  t.regex(shown.channels[0]?.error ?? '', /a retry sends it\.$/v);
  t.deepEqual(await life.events(post), ['post.failed', 'post.failed']);

  t.deepEqual(await life.retry(post), [channels.mute]);
  await goOn(post);
  t.like(await life.show(post), { status: 'published', summary: { published: 1 } });
  t.is(mute.live.length, 1);
  t.is(mute.sends.length, 2);
  t.deepEqual(await life.events(post), ['post.failed', 'post.failed', 'post.published']);
});

test('the event of a post that is out elsewhere is partial until it is found', async (t) => {
  const { life, channels, doubtful } = await doubt(t);
  const [absent, found] = [
    await doubtful({ body: 'One' }, { also: true }),
    await doubtful({ body: 'Two' }, { also: true }),
  ];
  const published = (await life.show(found)).published_at;
  await life.settle(absent, channels.mute, null);
  await life.settle(found, channels.mute, there);
  t.deepEqual(await life.events(absent), ['post.partial', 'post.partial']);
  t.deepEqual(await life.events(found), ['post.partial', 'post.published']);
  t.is((await life.show(found)).published_at, published);
});

test('the same answer given again changes nothing, and another is refused', async (t) => {
  const { life, channels, doubtful } = await doubt(t);
  for (const [answer, others] of [
    [there, [null, elsewhere]],
    [null, [there]],
  ] as const) {
    const post = await doubtful({ body: 'Hello' });
    await life.settle(post, channels.mute, answer);
    const [before, events] = [await life.show(post), await life.events(post)];

    await life.settle(post, channels.mute, answer);
    for (const other of others) {
      const refused = life.settle(post, channels.mute, other);
      const message = `The channel was settled already and is ${answer === null ? 'failed' : 'published'}; only an unconfirmed one can be settled.`;
      await t.throwsAsync(refused, { code: 'nothing_to_settle', message });
    }

    t.deepEqual(await life.show(post), before);
    t.deepEqual(await life.events(post), events);
  }
});

test('until the network has surely written what it was asked for, nobody can say that it is not there', async (t) => {
  const { life, channels, publish } = await doubt(t);
  const { post, claimed } = await publish({ body: 'Hello' });
  await life.finalize(post, claimed);
  life.pass(stillArrivingMs - 1);
  const before = await life.show(post);
  const refusal = { code: 'nothing_to_settle', message: /may still be at it\. Look again after/v };
  await t.throwsAsync(life.settle(post, channels.mute, null), refusal);
  t.deepEqual(await life.show(post), before);
  t.deepEqual(await life.events(post), ['post.failed']);

  life.pass(1);
  await life.settle(post, channels.mute, null);
  t.like((await life.show(post)).channels[0], { error_code: 'not_published' });
});

test('where the post is can be said at once', async (t) => {
  const { life, channels, publish } = await doubt(t);
  const { post, claimed } = await publish({ body: 'Hello' });
  await life.finalize(post, claimed);
  await life.settle(post, channels.mute, there);
  t.is((await life.show(post)).status, 'published');
});

test('no network takes longer to write a post than a settling waits for', (t) => {
  const longest = Math.max(...Object.values(networks).map(({ settlingMs }) => settlingMs));
  t.is(longest, stillArrivingMs);
});

test('a post that has not ended hears of it at its own end, with one event', async (t) => {
  const { life, channels, publish } = await doubt(t);
  for (const [answer, status, event] of [
    [there, 'published', 'post.published'],
    [null, 'failed', 'post.partial'],
  ] as const) {
    const { post, claimed } = await publish({ body: 'Hello' }, { also: true });
    life.pass(2 * minute);

    await life.settle(post, channels.mute, answer);

    t.is((await life.show(post)).status, 'publishing');
    t.deepEqual(await life.events(post), []);
    t.is((await life.finalize(post, claimed)).status, status);
    t.deepEqual(await life.events(post), [event]);
  }
});

test('what was settled in a cancelled post stays out of it, or goes out with it, once it is scheduled anew', async (t) => {
  const { life, channels, publish, goOn, clear, mute } = await doubt(t);
  const draft = async (answer: string | null): Promise<string> => {
    const busy = new NetworkError('network_unavailable', 'They are busy.', { taken: 'no' });
    clear.fates.push({ kind: 'fails', error: busy });
    const { post, claimed } = await publish({ body: 'Hello' }, { also: true });
    await life.cancel(post);
    await life.finalize(post, claimed, { canceled: true });
    life.pass(2 * minute);
    await life.settle(post, channels.mute, answer);
    t.like(await life.show(post), { status: 'draft', summary: { pending: 1 } });
    t.deepEqual(await life.events(post), []);
    return post;
  };
  for (const [answer, sends] of [
    [there, 0],
    [null, 1],
  ] as const) {
    const post = await draft(answer);
    const before = mute.sends.length;
    await life.edit(post, { schedule_in_minutes: 0 });
    await goOn(post);
    t.is(mute.sends.length - before, sends);
    t.like(await life.show(post), { status: 'published', summary: { published: 2 } });
    t.deepEqual(await life.events(post), ['post.published']);
  }
});
