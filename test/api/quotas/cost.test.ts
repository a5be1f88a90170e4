import test from 'ava';
import { countPosts } from '../../../db/quotas.ts';
import { sharedApi } from '../../support/kit.ts';
import { fakeNetwork } from '../../support/networks.ts';
import { postSteps } from '../../support/post-steps.ts';
import { planOf } from '../../support/query-plan.ts';
import { statementsOf, type Sent } from '../../support/sent-statements.ts';
import { draftOf, limited } from './limited.ts';

// In series: the recorded statements are those of all tests.
const api = sharedApi(test);

const ofQuotas = (sent: readonly Sent[]): string[] =>
  sent.map(({ text }) => text).filter((text) => text.includes('quota_shares'));

test.serial(
  'the statement that stores a post also takes its quota, without a transaction',
  async (t) => {
    const { client } = await limited(api.punctual, {});
    await client.post('/posts', draftOf(10)); // The first post creates the shares.

    const sent = await statementsOf(() => client.post('/posts', draftOf(10)));

    const [taking = '', ...others] = ofQuotas(sent);
    t.regex(taking, /insert into posts/v);
    t.deepEqual(others, []);
    t.false(sent.some(({ text }) => /^(?:begin|commit|savepoint)/iv.test(text)));
  },
);

test.serial(
  'of a hundred posts beside 5,000 scheduled ones only the first counts, with an index',
  async (t) => {
    const { client, channel } = await limited(api.punctual, { scheduled: 10_000 });
    const em = api.punctual.orm.em.fork();
    const store = (workspaceId: string, status: string, count: number): Promise<unknown> =>
      em.execute(
        `insert into posts (id, workspace_id, body, status, scheduled_at, created_at, updated_at)
       select gen_random_uuid(), ?, 'As long as posts are.', ?, now() + interval '1 hour', now(), now()
       from generate_series(1, ?)`,
        [workspaceId, status, count],
      );
    await store(client.workspaceId, 'scheduled', 5000);
    await store((await api.newClient()).workspaceId, 'scheduled', 30_000);
    await em.execute('vacuum analyze posts');
    const post = { body: 'x', channel_ids: [channel], schedule_in_minutes: 60 };

    const sent = await statementsOf(async () => {
      for (let made = 0; made < 100; made += 1) {
        t.is((await client.post('/posts', post)).status, 201);
      }
    });

    const counting = sent.filter(({ text }) => text.includes('as scheduled,'));
    t.is(counting.length, 1);
    const [count] = await statementsOf(() => countPosts(em, client.workspaceId));
    const { text: sql = '', values = [] } = count ?? {};
    const plan = await planOf(api.punctual.orm, { sql, values });
    t.false(plan.includes('Seq Scan'), plan);
    t.is((await countPosts(em, client.workspaceId)).scheduled, 5100);
  },
);

test.serial('publishing a post does not query the quotas', async (t) => {
  const steps = await postSteps(t, { fake: fakeNetwork() }, api.punctual.databaseUrl);
  const channel_ids = Object.values(steps.channels);
  const post = await steps.create({ body: 'Hello', channel_ids, schedule_in_minutes: 0 });

  const sent = await statementsOf(async () => {
    const claim = await steps.claimOrThrow(post);
    const { postChannelId = '' } = claim.targets[0] ?? {};
    t.like(await steps.attempt(post, postChannelId), { status: 'published' });
    t.like(await steps.finalize(post, claim), { status: 'published' });
  });

  t.true(sent.length >= 3);
  t.deepEqual(ofQuotas(sent), []);
});
