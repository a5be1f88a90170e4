import test, { type ExecutionContext } from 'ava';
import type { Em } from '../../db/orm.ts';
import { fakeNetwork } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { postLife, type Go, type PostLife } from '../support/post-life.ts';

test('a claim that waits for an edit publishes the post as it is then, on its channels of then', async (t) => {
  const { life, post } = await due(t);

  const claim = await during(
    life,
    {
      post,
      raises: 1,
      change: (em) =>
        em.execute('delete from post_channels where post_id = ? and channel_id = ?', [
          post,
          life.channels['second'],
        ]),
    },
    () => life.claim(post),
  );

  t.is(claim.kind, 'go');
  t.deepEqual(
    (claim as Go).targets.map(({ channelId }) => channelId),
    [life.channels['first']],
  );
});

test('a try that waits for somebody who changes the channel does not begin with what it had read before', async (t) => {
  const { life, post, network } = await due(t);
  const go = (await life.claim(post)) as Go;
  const { postChannelId = '' } = go.targets[0] ?? {};

  const tried = await during(
    life,
    {
      post,
      raises: 1,
      change: (em) =>
        em.execute("update post_channels set body = 'New' where id = ? and post_id = ?", [
          postChannelId,
          post,
        ]),
    },
    () => life.attempt(post, postChannelId),
  );

  t.like(tried, { kind: 'done', status: 'draft' });
  t.deepEqual(network.sends, []);
  t.like(await life.attempt(post, postChannelId), { kind: 'done', status: 'published' });
  t.is(network.sends.length, 1);
  t.is((await life.show(post)).channels[0]?.body, 'New');
});

test('an event says what the channels are when the post ends, also when its end had to wait for one of them', async (t) => {
  const { life, post } = await due(t);
  const go = (await life.claim(post)) as Go;
  for (const { postChannelId } of go.targets) {
    await life.attempt(post, postChannelId);
  }

  const end = await during(
    life,
    {
      post,
      raises: 0,
      change: (em) =>
        em.execute(
          "update post_channels set status = 'failed', url = null where post_id = ? and channel_id = ?",
          [post, life.channels['second']],
        ),
    },
    () => life.finalize(post, go),
  );

  t.is(end.status, 'failed');
  t.deepEqual(await life.events(post), ['post.partial']);
});

async function due(t: ExecutionContext) {
  const network = fakeNetwork();
  const life = await postLife(t, { first: network, second: fakeNetwork() });
  const channel_ids = ['first', 'second'].map((name) => life.channels[name] ?? '');
  const post = await life.create({ body: 'Old', channel_ids, schedule_in_minutes: 0 });
  return { life, post, network };
}

type Change = {
  readonly post: string;
  /** By how much it raises the revision. */
  readonly raises: 0 | 1;
  readonly change: (em: Em) => Promise<unknown>;
};

/** Has somebody change a post, whose commit comes only when `act` waits for it. @returns what came of `act`. */
async function during<T>(
  { deps }: PostLife,
  { post, raises, change }: Change,
  act: () => Promise<T>,
): Promise<T> {
  const em = deps.orm.em.fork();
  await em.begin();
  // As every change of the API: the post first.
  await em.execute(
    `update posts set revision = revision + ?, updated_at = clock_timestamp() where id = ?`,
    [raises, post],
  );
  await change(em);
  const acting = act();
  acting.catch(() => undefined);
  await poll(
    () =>
      deps.orm.em
        .fork()
        .execute<{ waiting: number }[]>(
          "select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        ),
    ([row]) => (row?.waiting ?? 0) > 0,
  );
  await em.commit();
  return acting;
}
