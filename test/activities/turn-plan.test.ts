import test from 'ava';
import { watchStatements, type Sent } from '../db/watch-statements.ts';
import { fakeNetwork } from '../support/networks.ts';
import { ledgerWorld, type LedgerPost } from '../support/ledger-world.ts';

const minute = 60_000;

test('who goes first is found by an index, among the posts that wait and not all that the channel ever had', async (t) => {
  const statementsOf = watchStatements();
  const world = await ledgerWorld(t, fakeNetwork());
  const em = world.deps.orm.em.fork();
  const at = world.deps.now();
  await em.execute(
    `insert into posts (id, workspace_id, body, status, scheduled_at, created_at, updated_at)
     select gen_random_uuid(), ?, 'x', case when n <= 3000 then 'publishing' else 'published' end,
       ?::timestamptz - n * interval '1 minute', now(), ? from generate_series(1, 30_000) n`,
    [world.workspaceId, at, new Date(at.getTime() + 2 * minute)],
  );
  await em.execute(
    `insert into post_channels (id, workspace_id, post_id, channel_id, position, status)
     select gen_random_uuid(), workspace_id, id, ?, 0, case when status = 'publishing' then 'scheduled' else status end
     from posts`,
    [world.channelId],
  );
  await em.execute('analyze posts, post_channels, channels');
  const onTime = await world.newPost(['On time']);
  const late = await world.newPost(['Late']);
  const isTurn = ({ text }: Sent): boolean => text.includes('as ahead');
  const sentBy = (post: LedgerPost) => statementsOf(() => post.attempt());
  t.false((await sentBy(onTime)).some(isTurn));

  world.pass(2 * minute);
  const startedMs = performance.now();
  const statement = (await sentBy(late)).find(isTurn)?.text ?? '';
  t.log(`${(performance.now() - startedMs).toFixed(0)} ms for a look while 3,000 posts go first`);
  t.is((await late.row()).status, 'retrying');
  const rows = await em.execute<Record<string, string>[]>(`explain ${statement}`);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  t.regex(plan, /post_channels_open/v, plan);
  t.notRegex(plan, /Seq Scan on (?:posts|post_channels)/v, plan);
});
