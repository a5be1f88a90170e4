import test from 'ava';
import * as fc from 'fast-check';
import type { Orm } from '../../../db/orm.ts';
import { metricNames } from '../../../networks/network.ts';
import type { Client } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { storeChannel } from '../../support/seed.ts';
import { apply, clear, type Ground } from './oracle/apply.ts';
import { channelCount, life, times } from './oracle/changes.ts';
import { publishedRows, recompute, sumsOf, type Asked, type Row } from './oracle/recompute.ts';

/** Number of workspaces. Each gets `questionsOfEach` requests: 10,000 cases in all. */
const lives = 200;
const questionsOfEach = 50;

const api = sharedApi(test, { now: () => new Date('2027-01-03T12:00:00.000Z') });

const platforms = ['mastodon', 'mastodon', 'bluesky', 'x', 'linkedin'] as const;

const day = fc.constantFrom(...new Set(times.map((time) => time.slice(0, 10))));
const question = fc.record(
  {
    days: fc.tuple(day, day).map((both) => both.toSorted()),
    post: fc.nat(20),
    channel: fc.nat(channelCount - 1),
    platform: fc.constantFrom(...platforms),
    sort: fc.constantFrom('date', 'engagement', ...metricNames),
    order: fc.constantFrom('asc' as const, 'desc' as const),
    limit: fc.integer({ min: 1, max: 8 }),
    offset: fc.nat(8),
  },
  { requiredKeys: ['days'] },
);

test.serial(
  'analytics match a recomputation from all rows, whatever happened to the posts',
  async (t) => {
    t.timeout(300_000);
    const client = await api.newClient();
    const { orm } = api.punctual;
    const channels: string[] = [];
    for (const platform of platforms) {
      channels.push(await storeChannel(api.punctual, client.workspaceId, { platform }));
    }

    const ground: Ground = { orm, workspaceId: client.workspaceId, channels };
    let asked = 0;
    await fc.assert(
      fc.asyncProperty(
        life,
        fc.array(question, { minLength: questionsOfEach, maxLength: questionsOfEach }),
        async (changes, questions) => {
          await clear(ground);
          await apply(ground, changes);
          const rows = await publishedRows(orm, client.workspaceId);
          t.deepEqual(await keptSums(orm, client.workspaceId), expectedSums(rows));
          for (let at = 0; at < questions.length; at += 10) {
            const some = questions.slice(at, at + 10);
            await Promise.all(
              some.map((one) => agrees(client, rows, askedOf(one, rows, channels))),
            );
            asked += some.length;
          }
        },
      ),
      { numRuns: lives, includeErrorInReport: true },
    );
    t.log(`${asked} questions of ${lives} workspaces' lives`);
    t.is(asked, lives * questionsOfEach);
  },
);

type Question = typeof question extends fc.Arbitrary<infer Q> ? Q : never;

function askedOf(
  { days: [from = '', to = ''], post, channel, ...others }: Question,
  rows: readonly Row[],
  channels: readonly string[],
): Asked {
  const postId = post === undefined ? undefined : rows[post % rows.length]?.post_id;
  const channelId = channel === undefined ? undefined : channels[channel];
  const isYear = Date.parse(to) - Date.parse(from) > 365 * 86_400_000;
  return {
    from: isYear ? to : from,
    to,
    ...(postId !== undefined && { post_id: postId }),
    ...(channelId !== undefined && { channel_id: channelId }),
    ...others,
  };
}

/** @throws Error when the API's answer differs. */
async function agrees(client: Client, rows: readonly Row[], asked: Asked): Promise<void> {
  const query = new URLSearchParams(
    Object.entries(asked).map(([name, value]): [string, string] => [name, String(value)]),
  );
  const { status, body } = await client.get(`/analytics?${query}`);
  const said = {
    totals: body.totals,
    posts: body.posts?.map(
      (post: { channels: Record<string, unknown>[] } & Record<string, unknown>) => ({
        post_id: post['post_id'],
        published_at: post['published_at'],
        channels: post.channels.map((channel) => ({
          channel_id: channel['channel_id'],
          metrics: channel['metrics'],
          metrics_updated_at: channel['metrics_updated_at'],
        })),
        totals: post['totals'],
      }),
    ),
    has_more: body.has_more,
  };
  const expected = recompute(rows, asked);
  if (status !== 200 || sorted(said) !== sorted(expected)) {
    throw new Error(`${status} ${query}\nsaid     ${sorted(said)}\nexpected ${sorted(expected)}`);
  }
}

/** JSON with sorted keys. */
const sorted = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) =>
    part && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );

const keptSums = async (orm: Orm, workspaceId: string): Promise<unknown[]> =>
  orm.em.fork().execute<object[]>(
    `select post_id, scope, published_at, channels, unread, with_impressions, impressions::float8, likes::float8,
       comments::float8, shares::float8, saves::float8
     from post_metrics where workspace_id = ? order by post_id::text collate "C", scope collate "C"`,
    [workspaceId],
  );

function expectedSums(rows: readonly Row[]): unknown[] {
  const scoped = rows.flatMap((row) =>
    ['all', row.platform, row.channel_id].map((scope) => ({
      key: `${row.post_id} ${scope}`,
      scope,
      row,
    })),
  );
  const groups = [...Map.groupBy(scoped, ({ key }) => key)].toSorted(([a], [b]) =>
    a < b ? -1 : 1,
  );
  return groups.map(([, its]) =>
    sumsOfScope(
      its[0]?.scope,
      its.map(({ row }) => row),
    ),
  );
}

function sumsOfScope(scope: string | undefined, rows: readonly Row[]): object {
  const { engagement: _, impressions, ...sums } = sumsOf(rows);
  return {
    post_id: rows[0]?.post_id,
    scope,
    published_at: new Date(Math.min(...rows.map(({ published_at: at }) => at.getTime()))),
    channels: rows.length,
    unread: rows.filter(({ metrics_updated_at: at }) => at === null).length,
    with_impressions: rows.filter(({ metrics }) => metrics?.['impressions'] !== undefined).length,
    impressions: impressions ?? 0,
    ...sums,
  };
}
