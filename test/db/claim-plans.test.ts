import { sharedApi } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { cannotTell, down, fakeNetwork } from '../support/networks.ts';
import { postSteps, type PostSteps } from '../support/post-steps.ts';
import { planOf } from '../support/query-plan.ts';
import { statementsOf, type Sent } from '../support/sent-statements.ts';

// Counts all statements of this process, so it needs its own.
const test = needs('postgres');
const api = sharedApi(test);
const minute = 60_000;

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
    const others = await planIn(settling, 'select post_id from post_channels');
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

/** Stores 5,000 published posts on this channel, and 200 on each of a hundred others. */
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
       from channels c, generate_series(1, case when c.id = ? then 5000 else 200 end) n
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
