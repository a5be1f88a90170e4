import { claimDue } from '../../activities/refresh-metrics/due-reads.ts';
import { newId } from '../../db/new-id.ts';
import { readStored } from '../../temporal/sync-post.ts';
import { clockedChannel, type ClaimedPost, type ClockedChannel } from '../support/claimed-posts.ts';
import { sharedApi } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork, cannotTell, down } from '../support/networks.ts';
import { postSteps, type PostSteps } from '../support/post-steps.ts';
import { planOf } from '../support/query-plan.ts';
import { storeChannel } from '../support/seed.ts';
import { statementsOf, type Sent } from '../support/sent-statements.ts';

// The tests run serially, because they read all statements of this process.
const test = needs('postgres');
const api = sharedApi(test);
const minute = 60_000;

test.serial('indexes find the posts before an overdue one, not all posts', async (t) => {
  const channel = await clockedChannel(t, fakeNetwork(), api.punctual.databaseUrl);
  await fillChannel(channel);
  const onTime = await channel.newPost(['On time']);
  const late = await channel.newPost(['Late']);
  const isTurn = ({ text }: Sent): boolean => text.includes('as ahead');
  const sentBy = (post: ClaimedPost) => statementsOf(() => post.attempt());
  t.false((await sentBy(onTime)).some(isTurn));

  channel.pass(2 * minute);
  const { text = '', values = [] } = (await sentBy(late)).find(isTurn) ?? {};
  t.is((await late.row()).status, 'retrying');
  const plan = await planOf(api.punctual.orm, { sql: text, values });
  t.regex(plan, /post_channels_open|posts_due_by_workspace/v, plan);
  t.notRegex(plan, /Seq Scan/v, plan);
});

test.serial(
  'posts that are due in the same second are found without those of other workspaces',
  async (t) => {
    const ids = { workspaceId: newId(), postId: newId() };
    await fillOthers();
    const post = { ...ids, revision: 1, status: 'scheduled', dueAt: new Date().toISOString() };

    const [asked] = await statementsOf(() => readStored(api.punctual.orm.em.fork(), post));

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

/** Stores 1,000 overdue posts that wait for each other, 10,000 ended ones, and 20,000 that are due in weeks. */
async function fillChannel({ workspaceId, channelId, deps }: ClockedChannel): Promise<void> {
  const em = api.punctual.orm.em.fork();
  const at = deps.now();
  await em.execute(
    `insert into posts (id, workspace_id, body, status, scheduled_at, created_at, updated_at)
     select gen_random_uuid(), ?, 'x',
       case when n <= 1000 then 'publishing' when n <= 11000 then 'published' else 'scheduled' end,
       ?::timestamptz - case when n <= 11000 then n else -n end * interval '1 minute', now(), ? from generate_series(1, 31_000) n`,
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
     from new, generate_series(1, 100) n`,
  );
  await em.execute('analyze posts, post_channels, channels');
}

test.serial(
  'indexes find the owner of a found or settled post on a channel with many posts, among many channels',
  async (t) => {
    const network = fakeNetwork(minute);
    const steps = await postSteps(t, { a: network }, api.punctual.databaseUrl);
    const channel = steps.channels['a'] ?? '';
    await fill(steps, channel);
    const begin = async () => {
      const content = { body: 'Hello', channel_ids: [channel], schedule_in_minutes: 0 };
      const post = await steps.create(content);
      return { post, id: (await steps.claimOrThrow(post)).targets[0]?.postChannelId ?? '' };
    };
    const [found, settled] = [await begin(), await begin()];
    network.fates.push({ kind: 'lost' }, { kind: 'vanished' });
    network.blind = down;
    await steps.attempt(found.post, found.id);
    network.blind = cannotTell;
    await steps.attempt(settled.post, settled.id);
    network.blind = undefined;
    steps.pass(2 * minute);

    const statements = await statementsOf(() => steps.attempt(found.post, found.id));
    t.is((await steps.show(found.post)).status, 'publishing');
    const claims = await planIn(statements, 'as is_own');
    t.regex(claims, /post_parts_one_claim_per_post/v, claims);
    t.regex(claims, /post_channels_settled/v, claims);
    t.notRegex(claims, /Seq Scan|workspace_id_index/v, claims);

    const url = 'https://fake.example/settled';
    const settling = await statementsOf(() => steps.settle(settled.post, channel, url));
    t.is((await steps.show(settled.post)).channels[0]?.url, url);
    const others = await planIn(settling, 'select pc.post_id as id');
    t.regex(others, /post_parts_one_claim_per_post/v, others);
    t.regex(others, /post_channels_settled/v, others);
    t.notRegex(others, /Seq Scan|Hash/v, others);
  },
);

/** The generic plan of the statement that contains `words`, which a connection uses for any values. */
async function planIn(statements: readonly Sent[], words: string): Promise<string> {
  const { text = '' } = statements.find((sent) => sent.text.includes(words)) ?? {};
  return planOf(api.punctual.orm, { sql: text.replace(/^/v, '(generic_plan) '), values: [] });
}

/** Stores 2,000 published posts on this channel, and 80 on each of a hundred others. */
async function fill({ workspaceId }: PostSteps, channelId: string): Promise<void> {
  const em = api.punctual.orm.em.fork();
  await em.execute(
    `insert into channels (id, workspace_id, platform, handle, remote_id, base_url, sealed_credentials, settings, created_at, updated_at)
     select gen_random_uuid(), ?, 'a', '@a', n, 'https://b', 'sealed', '{}', now(), now() from generate_series(1, 100) n`,
    [workspaceId],
  );
  await em.execute(
    `with post as (
       insert into posts (id, workspace_id, body, status, published_at, created_at, updated_at)
       select gen_random_uuid(), ?, c.id, 'published', now(), now(), now()
       from channels c, generate_series(1, case when c.id = ? then 2000 else 80 end) n
       where c.workspace_id = ? returning *)
     insert into post_channels (id, workspace_id, post_id, channel_id, position, status, url, published_at)
     select gen_random_uuid(), workspace_id, id, body::uuid, 0, 'published', 'https://fake.example/' || id, now() from post`,
    [workspaceId, channelId, workspaceId],
  );
  await em.execute(
    `insert into post_parts (id, workspace_id, post_channel_id, channel_id, run, part, key, state, text, remote_data, remote_id, url, created_at, updated_at)
     select gen_random_uuid(), workspace_id, id, channel_id, 1, 0, id, 'sent', 'x', '{}', id, url, now(), now()
     from post_channels where workspace_id = ?`,
    [workspaceId],
  );
  await em.execute('analyze posts, post_channels, channels, post_parts');
}

test.serial('due metrics are found by their index among many posts that are not due', async (t) => {
  const { orm, deps } = api.punctual;
  const { workspaceId } = await api.newClient();
  const channel = await storeChannel(api.punctual, workspaceId);
  const em = orm.em.fork();
  await em.execute(
    `with made as (
        insert into posts (id, workspace_id, status, body, scheduled_at, published_at, revision, synced_revision, run, created_at, updated_at)
          select gen_random_uuid(), ?, 'published', 'x', now(), now(), 1, 1, 1, now(), now() from generate_series(1, 6000)
          returning id)
      insert into post_channels (id, workspace_id, post_id, channel_id, position, status, tries, published_at, next_metrics_at)
        select gen_random_uuid(), ?, id, ?, 0, 'published', 1, now(), now() + random() * interval '1 day' + interval '1 minute' from made`,
    [workspaceId, workspaceId, channel],
  );
  await em.execute('analyze posts, post_channels, channels');
  const claiming = { platform: 'mastodon', everyMs: 0, post: null, busyChannels: [] };
  const [sent] = await statementsOf(async () => {
    t.deepEqual((await claimDue(deps, claiming)).rows, []);
  });
  const plan = await planOf(orm, { sql: sent?.text ?? '', values: sent?.values ?? [] });
  t.regex(plan, /Index Scan (?:using|on) post_channels_metrics_due/v, plan);
  t.notRegex(plan, /Seq Scan on post_(?:channels|parts)/v, plan);
});
