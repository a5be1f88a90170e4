import { claimDue } from '../../activities/refresh-metrics/due-reads.ts';
import { sharedApi } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { planOf } from '../support/query-plan.ts';
import { storeChannel } from '../support/seed.ts';
import { statementsOf } from '../support/sent-statements.ts';

// Counts all statements of this process, so it needs its own.
const test = needs('postgres');
const api = sharedApi(test);

test.serial('due metrics are found by their index among many posts that are not due', async (t) => {
  const { orm, deps } = api.punctual;
  const { workspaceId } = await api.newClient();
  const channel = await storeChannel(api.punctual, workspaceId);
  const em = orm.em.fork();
  await em.execute(
    `with made as (
        insert into posts (id, workspace_id, status, body, scheduled_at, published_at, revision, synced_revision, run, created_at, updated_at)
          select gen_random_uuid(), ?, 'published', 'x', now(), now(), 1, 1, 1, now(), now() from generate_series(1, 20000)
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
