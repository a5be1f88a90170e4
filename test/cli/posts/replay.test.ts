import test, { type ExecutionContext } from 'ava';
import type { ChannelErrorCode } from '../../../domain/channel-error.ts';
import { endedPost, storeChannel } from '../../support/seed.ts';
import { storedRows } from '../../support/stored-rows.ts';
import { newClient, type Client } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { adminOf, areRefused } from './admin.ts';

type Failed = { readonly post_id: string; readonly codes: string[] };

async function world(t: ExecutionContext) {
  const punctual = await startApi(t);
  const em = punctual.orm.em.fork();
  const admin = adminOf(punctual);
  const client = await newClient(punctual);
  /** A post that failed for these reasons, so many minutes ago. */
  const failed = async (
    codes: readonly ChannelErrorCode[],
    { minutesAgo = 5, by = client }: { minutesAgo?: number; by?: Client } = {},
  ): Promise<string> => {
    const outcomes = new Map<string, 'failed' | 'unconfirmed'>();
    for (const code of codes) {
      const channel = await storeChannel(punctual, by.workspaceId);
      outcomes.set(channel, code === 'unconfirmed' ? 'unconfirmed' : 'failed');
    }

    const id = await endedPost(punctual, by, outcomes);
    for (const [index, channel] of [...outcomes.keys()].entries()) {
      const sql = 'update post_channels set error_code = ? where post_id = ? and channel_id = ?';
      await em.execute(sql, [codes[index], id, channel]);
    }

    const ended = `now() - ? * interval '1 minute'`;
    await em.execute(
      `update posts set updated_at = ${ended}, scheduled_at = ${ended} where id = ?`,
      [minutesAgo, minutesAgo, id],
    );
    return id;
  };
  const statuses = async (id: string): Promise<string[]> =>
    (await client.get(`/posts/${id}`)).body.post.channels.map(
      (one: { status: string }) => one.status,
    );
  const replay = async (...words: string[]) => (await admin.post('replay', ...words)).data;
  return { punctual, em, admin, client, failed, statuses, replay };
}

const idsOf = (posts: readonly Failed[]): string[] => posts.map((post) => post.post_id);

test('all that failed in an outage is sent again, in the order of its time, and what a repeat cannot help is not', async (t) => {
  const { client, failed, statuses, replay, admin } = await world(t);
  const late = await failed(['network_unavailable'], { minutesAgo: 5 });
  const early = await failed(['too_late', 'rate_limited', 'internal'], { minutesAgo: 50 });
  const mixed = await failed(['content_refused', 'network_unavailable', 'unconfirmed']);
  const others = ['content_refused', 'media_refused', 'duplicate', 'access_lost'] as const;
  const refused = await failed([...others, 'permission_missing', 'not_published']);
  const unconfirmed = await failed(['unconfirmed']);
  const before = await failed(['network_unavailable'], { minutesAgo: 121 });

  const { text, failed: isBad } = await admin.post('replay', '--since', '2h', '--dry-run');
  t.false(isBad);
  t.regex(
    text,
    /^3 posts would be sent again \(too_late 1, rate_limited 1, internal 1, network_unavailable 2\)\.$/mv,
  );
  t.regex(text, /^Left out: 9 channels \(.*unconfirmed 2/mv);
  t.deepEqual(await statuses(late), ['failed']);

  const done = await replay('--since', '2h');
  t.deepEqual(idsOf(done.retried), [early, late, mixed]);
  t.deepEqual(idsOf(done.left_out).toSorted(), [mixed, refused, unconfirmed].toSorted());
  t.deepEqual(done.refused, []);
  t.deepEqual(await statuses(late), ['scheduled']);
  t.deepEqual(await statuses(early), ['scheduled', 'scheduled', 'scheduled']);
  t.deepEqual(await statuses(mixed), ['failed', 'scheduled', 'unconfirmed']);
  t.deepEqual(await statuses(unconfirmed), ['unconfirmed']);
  t.deepEqual(await statuses(before), ['failed']);
  t.is((await client.get(`/posts/${mixed}`)).body.post.status, 'publishing');

  const again = await replay('--since', '2h');
  t.deepEqual(again.retried, []);
  t.deepEqual(idsOf(again.left_out).toSorted(), [refused, unconfirmed].toSorted());
});

test('a dry run changes nothing', async (t) => {
  const { punctual, failed, replay, client } = await world(t);
  const post = await failed(['network_unavailable', 'content_refused']);
  const before = [await storedRows(punctual.orm), (await client.get(`/posts/${post}`)).body];
  const { dry_run: isDry, retried } = await replay('--since', '1h', '--dry-run');
  t.true(isDry);
  t.like(retried[0], {
    post_id: post,
    codes: ['network_unavailable'],
    left_out: ['content_refused'],
  });
  t.deepEqual([await storedRows(punctual.orm), (await client.get(`/posts/${post}`)).body], before);
});

test('a code that is named is sent again, and no other', async (t) => {
  const { failed, statuses, replay } = await world(t);
  const post = await failed(['access_lost', 'network_unavailable']);
  const { retried } = await replay('--since', '1d', '--code', 'access_lost');
  t.deepEqual(retried[0].codes, ['access_lost']);
  t.deepEqual(await statuses(post), ['scheduled', 'failed']);
});

test('an end of the time and a workspace leave out the rest', async (t) => {
  const { punctual, failed, replay, client } = await world(t);
  const stranger = await newClient(punctual);
  const theirs = await failed(['internal'], { by: stranger });
  const [old, young] = [
    await failed(['internal'], { minutesAgo: 90 }),
    await failed(['internal'], { minutesAgo: 10 }),
  ];
  const { workspaceId } = client;
  const early = await replay('--since', '2h', '--until', '1h', '--workspace', workspaceId);
  t.deepEqual(idsOf(early.retried), [old]);
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const late = await replay('--since', since, '--workspace', workspaceId);
  t.deepEqual(idsOf(late.retried), [young]);
  t.deepEqual(idsOf((await replay('--since', '1h')).retried), [theirs]);
});

test('a post that cannot be sent again is named with the reason, and holds up no other', async (t) => {
  const { punctual, em, failed, admin } = await world(t);
  const poor = await newClient(punctual);
  const without = await failed(['internal'], { minutesAgo: 9, by: poor });
  await em.execute('update workspaces set plan = null where id = ?', [poor.workspaceId]);
  const fine = await failed(['internal']);
  const { data, failed: isBad } = await admin.post('replay', '--since', '1h');
  t.true(isBad); // The process ends with 1.
  t.deepEqual(idsOf(data.retried), [fine]);
  t.like(data.refused[0], { post_id: without, error: 'This workspace has no active plan.' });
  t.regex(
    (await admin.post('replay', '--since', '1h')).text,
    /^1 post could not be sent again:$/mv,
  );
});

test('a time or a code that is none is refused, and nothing is sent again', async (t) => {
  const { punctual, failed, admin } = await world(t);
  await failed(['internal']);
  const before = await storedRows(punctual.orm);
  const wrong: [string[], RegExp][] = [
    [[], /--since is missing/v],
    [['--since', 'yesterday'], /--since must be a time such as .* not "yesterday"/v],
    [['--since', '2027-03-01T09:00:00'], /--since must be a time/v],
    [['--since', '2w'], /--since must be a time/v],
    [['--since', '1h', '--until', 'x'], /--until must be a time/v],
    [['--since', '1h', '--until', '2h'], /--until must be later than --since/v],
    [['--since', '1h', '--code', 'gone'], /--code must be one of .*rate_limited/v],
    [['--since', '1h', '--code', 'unconfirmed'], /never sent again.*post settle/v],
  ];
  const refusals = wrong.map(
    ([words, reason]) => [['replay', ...words], 'UsageError', reason] as const,
  );
  await areRefused(t, admin, refusals);
  const nowhere = ['replay', '--since', '1h', '--workspace', 'x'];
  await areRefused(t, admin, [[nowhere, 'AppError', /no workspace "x"/v]]);
  t.deepEqual(await storedRows(punctual.orm), before);
});
