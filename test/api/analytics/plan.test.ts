import test from 'ava';
import { selectChannels, selectSums, type Statement } from '../../../api/analytics/select.ts';
import { newId } from '../../../db/new-id.ts';
import { createWorkspace } from '../../../cli/create-workspace.ts';
import { startApi } from '../../support/punctual.ts';
import { storeChannel } from '../../support/seed.ts';

const dayMs = 24 * 60 * 60 * 1000;

test('a month of a large workspace is found by indexes, and no table is read whole', async (t) => {
  const punctual = await startApi(t);
  const em = punctual.orm.em.fork();
  const begin = Date.parse('2026-01-01T00:00:00Z');
  const workspaceId = await createWorkspace(em, 'Large');
  const channelId = await storeChannel(punctual, workspaceId);
  // 28 years of posts, five a day.
  await em.execute(
    `insert into posts (id, workspace_id, body, status, published_at, created_at, updated_at)
     select gen_random_uuid(), ?, 'x', 'published', to_timestamp(?) - n * interval '5 hours', now(), now()
     from generate_series(1, 50_000) n`,
    [workspaceId, begin / 1000],
  );
  await em.execute(
    `insert into post_channels (id, workspace_id, post_id, channel_id, position, status, metrics, published_at)
     select gen_random_uuid(), workspace_id, id, ?, 0, 'published', '{"likes": 1}', published_at from posts`,
    [channelId],
  );
  await em.execute('analyze posts, post_channels, channels');

  const explain = async ({ sql, parameters }: Statement): Promise<string> => {
    const rows = await em.execute<Record<string, string>[]>(`explain ${sql}`, [...parameters]);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  };
  const selection = { workspaceId, sort: 'date', order: 'desc', limit: 50, offset: 0 } as const;
  const published = { begin: begin - 30 * dayMs, end: begin };
  const sums = await explain(selectSums({ ...selection, published }));
  t.regex(sums, /posts_published/v);
  const [row] = await em.execute<{ id: string }[]>('select id from posts limit 1');
  const plans = [
    sums,
    await explain(selectSums({ ...selection, published, channelId, platform: 'mastodon' })),
    await explain(selectSums({ ...selection, published: { postId: row?.id ?? newId() } })),
    await explain(selectChannels({ ...selection, published }, [row?.id ?? newId()])),
  ];
  for (const plan of plans) {
    t.notRegex(plan, /Seq Scan on (?:posts|post_channels)/v, plan);
  }
});
