import test, { type ExecutionContext } from 'ava';
import { finishRestore } from '../../../db/restore-counter.ts';
import { freshDatabase } from '../../support/database.ts';
import { sharedDatabase } from '../../support/kit.ts';
import { fails } from '../../support/networks.ts';
import { longEnoughMs, muteWorkspace, type MuteWorkspace } from './doubtful-post.ts';

const database = sharedDatabase(test);

const workspace = (t: ExecutionContext): Promise<MuteWorkspace> => muteWorkspace(t, database().url);

/** The URLs that a person gives for a post. */
const there = 'https://social.test/@ana/1';
const elsewhere = 'https://social.test/@ana/2';

const dayMs = 24 * 60 * 60_000;

test('a different answer corrects the last one for a day, with a new event', async (t) => {
  const { posts, channels, doubtful, mute } = await workspace(t);
  for (const [wrong, right] of [
    [there, elsewhere],
    [there, null],
    [null, there],
  ] as const) {
    const post = await doubtful({ body: 'Hello' });
    const sentAt = new Date(posts.deps.now().getTime() - longEnoughMs).toISOString();
    await posts.deps.orm.em.fork().execute("update posts set body = '' where id = ?", [post]);
    t.is((await posts.show(post)).channels[0]?.body, 'Hello', 'the text that may be live');
    const type = (url: string | null): string => (url === null ? 'post.failed' : 'post.published');
    await posts.settle(post, channels.mute, wrong);
    posts.pass(dayMs);

    await posts.settle(post, channels.mute, right);

    const shown = await posts.show(post);
    const [published, status] = right === null ? [0, 'failed'] : [1, 'published'];
    t.like(shown, { status, summary: { published } });
    t.is(shown.published_at === null, right === null);
    // When it is not there, the ledger no longer has the time of the request.
    t.true(right === null || (shown.published_at ?? '') <= sentAt);
    const errorCode = right === null ? 'not_published' : null;
    t.like(shown.channels[0], { status, url: right, error_code: errorCode });
    posts.pass(dayMs + 1);
    const what = `The channel is ${status}. It was settled more than a day ago, so the settlement cannot be corrected.`;
    const refused = posts.settle(post, channels.mute, wrong);
    await t.throwsAsync(refused, { code: 'nothing_to_settle', message: what });
    await posts.settle(post, channels.mute, right); // A repeated answer.
    t.deepEqual(await posts.show(post), shown);
    t.deepEqual(await posts.events(post), ['post.failed', type(wrong), type(right)]);
  }

  t.is(mute.sends.length, 3);
});

test('a post that is not there after all is sent once by a retry, and then the answer stays', async (t) => {
  const { posts, channels, doubtful, goOn, mute } = await workspace(t);
  const post = await doubtful({ body: 'Hello' });
  mute.live.pop();
  await posts.settle(post, channels.mute, there);
  posts.pass(1);
  await posts.settle(post, channels.mute, null);
  posts.pass(1);
  t.deepEqual(await posts.retry(post), [channels.mute]);
  const refusal = (status: string) => ({
    code: 'nothing_to_settle',
    message: `The channel is ${status}. It was sent again or unpublished since it was settled, so the settlement cannot be corrected.`,
  });
  await t.throwsAsync(posts.settle(post, channels.mute, there), refusal('scheduled'));
  await goOn(post);

  for (const url of [there, null]) {
    await t.throwsAsync(posts.settle(post, channels.mute, url), refusal('published'));
  }

  t.is(mute.live.length, 1);
  t.is(mute.sends.length, 2);
});

test('the metrics of a wrong post go with it', async (t) => {
  const { posts, channels, doubtful } = await workspace(t);
  const post = await doubtful({ body: 'Hello' });
  await posts.settle(post, channels.mute, there);
  const em = posts.deps.orm.em.fork();
  const [{ id = '' } = {}] = await em.execute<{ id: string }[]>(
    `update post_channels set metrics = '{"likes": 7}', metrics_updated_at = now(), gone_at = now()
     where post_id = ? returning id`,
    [post],
  );
  await em.execute(
    `insert into metric_days (post_channel_id, day, workspace_id, metrics) values (?, current_date, ?, '{"likes": 7}')`,
    [id, posts.workspaceId],
  );
  posts.pass(1);
  await posts.settle(post, channels.mute, elsewhere);
  const [channel] = (await posts.show(post)).channels;
  t.like(channel, { url: elsewhere, metrics: null, metrics_updated_at: null, gone_at: null });
  const days = await em.execute('select 1 from metric_days where post_channel_id = ?', [id]);
  t.deepEqual(days, []);
});

test('a post that is removed from the network keeps its answer', async (t) => {
  const { posts, channels, doubtful } = await workspace(t);
  const post = await doubtful({ body: 'Hello' });
  await posts.settle(post, channels.mute, there);
  for (const status of ['pending', 'removed', 'not_found']) {
    const request = { requested_at: posts.deps.now().toISOString(), error: null, error_code: null };
    await posts.deps.orm.em
      .fork()
      .execute('update post_channels set unpublish = ?::jsonb where post_id = ?', [
        JSON.stringify({ status, ...request }),
        post,
      ]);
    const refused = posts.settle(post, channels.mute, null);
    await t.throwsAsync(refused, {
      code: 'nothing_to_settle',
      message: /unpublished since it was settled/v,
    });
  }
});

test('after a restore, a post that was refused twice is settled by its URL, and corrected', async (t) => {
  const { url, orm } = await freshDatabase(t);
  const { posts, channels, mute, doubtful, goOn } = await muteWorkspace(t, url);
  mute.fates.push(fails('content_refused'), fails('content_refused'));
  const post = await doubtful({ body: 'Hello' });
  await posts.retry(post);
  await goOn(post);
  await finishRestore(orm.em.fork(), { begun: [post], unsent: [], at: new Date() }, 0);
  posts.pass(Date.now() - posts.deps.now().getTime() + longEnoughMs);
  for (const answer of [there, null, elsewhere]) {
    await posts.settle(post, channels.mute, answer);
    t.is((await posts.show(post)).channels[0]?.url, answer);
  }
});
