import { newId } from '../../db/new-id.ts';
import { wakeTime } from '../../temporal/sync-post.ts';
import { clockedChannel, type ClaimedPost, type ClockedChannel } from '../support/claimed-posts.ts';
import { sharedApi } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork } from '../support/networks.ts';
import { planOf } from '../support/query-plan.ts';
import { addFakeChannel } from '../support/seed.ts';
import { statementsOf, type Sent } from '../support/sent-statements.ts';

// The tests run serially, because they read all statements of this process.
const test = needs('postgres');
const api = sharedApi(test);
const minute = 60_000;

test.serial(
  'an index finds the posts before an overdue one among those with earlier times, not all posts of the channel',
  async (t) => {
    const channel = await clockedChannel(t, fakeNetwork(), api.punctual.databaseUrl);
    await fillChannel(channel);
    const onTime = await channel.newPost(['On time']);
    const late = await channel.newPost(['Late']);
    const isTurn = ({ text }: Sent): boolean => text.includes('as ahead');
    const sentBy = (post: ClaimedPost) => statementsOf(() => post.attempt());
    t.false((await sentBy(onTime)).some(isTurn));

    channel.pass(2 * minute);
    const turn = (await sentBy(late)).find(isTurn);
    t.is((await late.row()).status, 'retrying');
    const plan = await preparedPlan(turn?.text ?? '');
    t.regex(
      plan,
      /posts_due_by_workspace.*\n.*Index Cond:.*workspace_id.* AND .*ROW\(COALESCE/v,
      plan,
    );
    t.notRegex(plan, /Seq Scan|Sort|Hash/v, plan);
  },
);

test.serial(
  'on one of two hundred channels, an index finds the posts before an overdue one among those of that channel',
  async (t) => {
    const network = fakeNetwork();
    const channel = await clockedChannel(t, network, api.punctual.databaseUrl);
    const { deps, workspaceId } = channel;
    const account = { remoteId: 'another' };
    const channelId = await addFakeChannel(deps, workspaceId, network.id, account);
    await fillChannel({ ...channel, channelId });
    const late = await channel.newPost(['Late']);
    channel.pass(2 * minute);

    const sent = await statementsOf(() => late.attempt());

    const turn = sent.find(({ text }) => text.includes('as ahead'));
    const plan = await preparedPlan(turn?.text ?? '');
    t.regex(plan, /post_channels_open/v, plan);
    t.notRegex(plan, /Seq Scan|Hash|posts_due/v, plan);
  },
);

test.serial(
  'posts that are due in the same second are found without those of other workspaces',
  async (t) => {
    const ids = { workspaceId: newId(), postId: newId() };
    await fillOthers();
    const post = { ...ids, revision: 1, status: 'scheduled', dueAt: new Date().toISOString() };

    const [asked] = await statementsOf(() => wakeTime(api.punctual.orm.em.fork(), post));

    const plan = await preparedPlan(asked?.text ?? '');
    t.regex(
      plan,
      /posts_due_by_workspace.*\n.*Index Cond:.*workspace_id.* AND .*>= date_trunc.* AND .*ROW\(/v,
      plan,
    );
  },
);

/** The generic plan, which a connection uses for any values. */
async function preparedPlan(text: string): Promise<string> {
  const { orm } = api.punctual;
  return planOf(orm, { sql: text.replace(/^/v, '(generic_plan) '), values: [] });
}

/** Stores 3,000 overdue posts that wait for each other, 30,000 ended ones, and 60,000 that are due in weeks. */
async function fillChannel({ workspaceId, channelId, deps }: ClockedChannel): Promise<void> {
  const em = api.punctual.orm.em.fork();
  const at = deps.now();
  await em.execute(
    `insert into posts (id, workspace_id, body, status, scheduled_at, created_at, updated_at)
     select gen_random_uuid(), ?, 'x',
       case when n <= 3000 then 'publishing' when n <= 33000 then 'published' else 'scheduled' end,
       ?::timestamptz - case when n <= 33000 then n else -n end * interval '1 minute', now(), ? from generate_series(1, 93_000) n`,
    [workspaceId, at, new Date(at.getTime() + 2 * minute)],
  );
  await em.execute(
    `insert into post_channels (id, workspace_id, post_id, channel_id, position, status)
     select gen_random_uuid(), workspace_id, id, ?, 0, case when status = 'published' then status else 'scheduled' end
     from posts where workspace_id = ?`,
    [channelId, workspaceId],
  );
  await fillOthers();
}

/** Stores posts of other workspaces that are due at the same times. */
async function fillOthers(): Promise<void> {
  const em = api.punctual.orm.em.fork();
  await em.execute(
    `with new as (
       insert into workspaces (id, name, created_at) select gen_random_uuid(), 'x', now() from generate_series(1, 100) returning id)
     insert into posts (id, workspace_id, body, status, scheduled_at, created_at, updated_at)
     select gen_random_uuid(), new.id, 'x', 'scheduled', now() + n * interval '1 minute', now(), now()
     from new, generate_series(1, 300) n`,
  );
  await em.execute('analyze posts, post_channels, channels');
}
