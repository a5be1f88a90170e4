import { purgeExpired } from '../../activities/sweep/sweep.ts';
import { connectChannel } from '../../services/channels/connect-channel.ts';
import { createWorkspace } from '../../cli/admin/workspaces.ts';
import { sharedApi } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import type { Punctual } from '../support/punctual.ts';
import { planOf, runSent } from '../support/query-plan.ts';
import { sumAllMetrics } from '../support/sum-all-metrics.ts';
import { statementsOf, type Sent } from '../support/sent-statements.ts';
import { storeChannel } from '../support/seed.ts';
import { storeMany } from '../support/seed-deliveries.ts';

// One database for serial tests, because they read all statements of this process.
const test = needs('postgres');
const api = sharedApi(test);

const minutesAgo = `now() - n * interval '1 minute'`;
/** Rows of each kind for each workspace. */
const fillings = [
  `insert into posts (id, workspace_id, body, status, scheduled_at, published_at, created_at, updated_at, tags, external_id)
   select gen_random_uuid(), w.id, 'word' || n % 50, (array['draft', 'published', 'failed'])[1 + n % 3],
     case when n % 3 > 0 then at end, case when n % 3 = 1 then at end, at, at, array['tag' || n % 50], n
   from workspaces w, generate_series(1, 500) n, lateral (select ${minutesAgo} as at) t`,
  `insert into post_channels (id, workspace_id, post_id, channel_id, position, status, metrics, published_at)
   select gen_random_uuid(), p.workspace_id, p.id, c.id, 0, p.status,
     '{"likes": 1}', p.published_at
   from posts p join channels c on c.workspace_id = p.workspace_id`,
  `insert into post_parts (id, workspace_id, post_channel_id, channel_id, run, part, key, state, text, remote_data,
     created_at, updated_at)
   select gen_random_uuid(), workspace_id, id, channel_id, 1, 0, id, 'sent', 'x', '{}', now(), now()
   from post_channels where status = 'published'`,
  `insert into media_files (id, workspace_id, name, type, size_bytes, storage_key, link_token, created_at, stored_at)
   select gen_random_uuid(), w.id, n || '.png', 'image/png', 1, gen_random_uuid(), gen_random_uuid(), ${minutesAgo}, now()
   from workspaces w, generate_series(1, 500) n`,
  `insert into webhook_endpoints (id, workspace_id, url, events, sealed_secret, secret_hint, created_at)
   select gen_random_uuid(), w.id, 'https://example.com/1', '["post.failed"]', 'x', 'x', now() from workspaces w`,
  `with new as (
     insert into events (id, workspace_id, type, body, created_at)
     select t.id, w.id, 'post.failed', jsonb_build_object('id', t.id, 'type', 'post.failed', 'created_at', t.at,
       'workspace_id', w.id, 'data', '{}'::jsonb)::text, t.at
     from workspaces w, generate_series(1, 500) n,
       lateral (select md5(w.id::text || n)::uuid as id, ${minutesAgo} as at) t
     returning *
   )
   insert into deliveries (id, workspace_id, endpoint_id, event_id, status, created_at)
   select gen_random_uuid(), e.workspace_id, e.id, new.id, 'failed', new.created_at
   from new join webhook_endpoints e on e.workspace_id = new.workspace_id`,
  `insert into delivery_attempts (id, workspace_id, delivery_id, number, created_at, duration_ms)
   select gen_random_uuid(), workspace_id, id, 1, created_at, 5 from deliveries`,
];

/**
 * Fills the database with workspaces that have many posts, files and deliveries, including the given one. At this size
 * PostgreSQL reads a whole table for one workspace only when it has no index.
 *
 * @returns an endpoint of the given workspace.
 */
async function fillWorkspaces({ orm, deps }: Punctual, workspaceId: string): Promise<string> {
  const em = orm.em.fork();
  const ids = [workspaceId];
  for (let count = 0; count < 39; count += 1) {
    ids.push(await createWorkspace(em.fork(), `Other ${count}`));
  }

  for (const id of ids) {
    await connectChannel(em.fork(), deps.sealer, id, 'mastodon', {
      baseUrl: 'https://social.example',
      remoteId: 'me',
      handle: '@me',
      credentials: { token: 'none' },
      session: null,
      settings: {},
    });
  }

  for (const sql of fillings) {
    await em.execute(sql);
  }

  await Promise.all(ids.map((id) => sumAllMetrics(em.fork(), id)));
  await em.execute('analyze');

  const [endpoint] = await em.execute<{ id: string }[]>(
    'select id from webhook_endpoints where workspace_id = ?',
    [workspaceId],
  );
  return endpoint?.id ?? '';
}

/** A step of EXPLAIN's output with the steps below it. */
type Step = {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly Plans?: readonly Step[];
};

/** The tables that grow without limit. The others are small, and a sequential scan may be faster. */
const large: ReadonlySet<string | undefined> = new Set([
  'posts',
  'post_channels',
  'post_parts',
  'post_search',
  'media_files',
  'deliveries',
  'delivery_attempts',
  'events',
]);

/** The index that finds each list's first rows in the list's order; null when several are equally good. */
const lists = (endpointId: string): Readonly<Record<string, string | null>> => ({
  '/posts': 'posts_newest',
  '/posts?order=asc': 'posts_newest',
  '/posts?status=failed': 'posts_newest_by_status',
  '/posts?outcome=failed': 'posts_newest_by_status',
  '/posts?status=failed&status=draft': null,
  '/posts?platform=mastodon': null,
  '/posts?tag=tag7': 'post_search_terms',
  '/posts?q=word7&status=failed': 'post_search_terms',
  '/posts?external_id=7': 'posts_external_id',
  '/posts?sort=scheduled_at&order=asc&limit=10': 'posts_by_time',
  '/posts?from=2026-01-01T00:00:00Z': 'posts_by_time',
  '/posts?sort=published_at': 'posts_published',
  '/media': 'media_files_newest',
  '/media?type=image&search=7.png': 'media_files_newest',
  '/webhooks': 'deliveries_newest',
  [`/webhooks/${endpointId}`]: 'deliveries_newest',
  [`/webhooks/${endpointId}/deliveries`]: null,
  [`/webhooks/${endpointId}/deliveries?status=failed`]: null,
  [`/webhooks/${endpointId}/deliveries?event_type=post.failed`]: null,
  '/events': 'events_numbered',
  '/events?after=400&types=post.failed': 'events_numbered',
  '/events?from=2020-01-01T00:00:00Z': null,
  '/analytics': 'post_metrics_published',
  '/analytics?sort=likes&platform=mastodon': null,
  '/analytics?sort=engagement': null,
});

test.serial(
  'every list of a workspace finds its rows by an index among many workspaces, also on its second page',
  async (t) => {
    const client = await api.newClient();
    const endpointId = await fillWorkspaces(api.punctual, client.workspaceId);

    for (const [path, index] of Object.entries(lists(endpointId))) {
      const first = await client.get(path);
      t.is(first.status, 200, path);
      const cursor: string | undefined = first.body.next_cursor ?? undefined;
      const again = `${path}${path.includes('?') ? '&' : '?'}cursor=${cursor}`;
      for (const page of cursor === undefined ? [path] : [path, again]) {
        const sent = await statementsOf(() => client.get(page));
        // A cached plan assumes that each workspace has an average number of rows.
        t.deepEqual(
          sent.filter(({ text, isPrepared }) => isPrepared && /limit \$|any\(\$/v.test(text)),
          [],
          `${page} uses a plan for all workspaces`,
        );
        const steps = await stepsOf(sent);
        t.true(
          index === null || steps.some((step) => step['Index Name'] === index),
          `${page} does not use ${index}`,
        );
        const whole = steps.filter((step) => step['Node Type'] === 'Seq Scan');
        t.deepEqual(
          whole.filter((step) => large.has(step['Relation Name'])),
          [],
          `${page} reads these tables sequentially`,
        );
      }
    }
  },
);

async function stepsOf(statements: readonly Sent[]): Promise<Step[]> {
  const em = api.punctual.orm.em.fork();
  const steps: Step[] = [];
  for (const { text, values } of statements) {
    if (/^\s*(?:select|with)\b/iv.test(text)) {
      const sql = `explain (format json) ${text}`;
      const [row] = await runSent<{ 'QUERY PLAN': [{ Plan: Step }] }>(em, { sql, values });
      steps.push(...(row ? flatten(row['QUERY PLAN'][0].Plan) : []));
    }
  }

  return steps;
}

const flatten = (step: Step): Step[] => [step, ...(step.Plans ?? []).flatMap(flatten)];

test.serial('expired rows are found by indexes among many others', async (t) => {
  const { orm, deps } = api.punctual;
  const client = await api.newClient();
  await client.post('/webhooks', { url: 'https://8.8.8.8/hook', events: ['post.failed'] });
  await storeMany(orm, client.workspaceId, 20_000);
  const soon = new Date('2026-01-31T02:00:00.000Z'); // By then 119 of them have expired.

  const statements = await statementsOf(() => purgeExpired({ ...deps, now: () => soon }));

  const deletes = statements.filter(({ text }) => text.includes('delete from'));
  t.is(deletes.length, 7);
  const [deliveries = '', events = ''] = await Promise.all(
    deletes.map(({ text, values }) => planOf(orm, { sql: text, values })),
  );
  t.regex(deliveries, /Index (?:Only )?Scan using deliveries_ended/v);
  t.regex(events, /Index (?:Only )?Scan using events_created_at_index/v);
  const isWhole = /Seq Scan on (?:deliveries|events)/v;
  t.notRegex(`${deliveries} ${events}`, isWhole, `${deliveries}\n${events}`);
});

test.serial(
  'one statement stores a post and counts those of its workspace with an index, also where two workspaces have nearly all',
  async (t) => {
    const em = api.punctual.orm.em.fork();
    const clients = [await api.newClient(), await api.newClient()];
    for (const { workspaceId } of clients) {
      await em.execute(
        `insert into posts (id, workspace_id, body, status, scheduled_at, created_at, updated_at)
         select gen_random_uuid(), ?, 'As long as posts are.', (array['scheduled', 'draft'])[1 + n % 2],
           now() + interval '1 hour', now(), now()
         from generate_series(1, 9000) n`,
        [workspaceId],
      );
    }

    await em.execute('vacuum analyze posts');
    const [client = await api.newClient()] = clients;
    const channel = await storeChannel(api.punctual, client.workspaceId);
    const draft = { body: 'x', channel_ids: [channel] };
    for (const post of [draft, { ...draft, schedule_in_minutes: 60 }]) {
      const sent = await statementsOf(async () => {
        t.is((await client.post('/posts', post)).status, 201);
      });

      t.false(sent.some(({ text }) => /^(?:begin|savepoint)/iv.test(text)));
      const { text: sql = '', values = [] } =
        sent.find(({ text }) => text.includes('insert into posts')) ?? {};
      const plan = await planOf(api.punctual.orm, { sql, values });
      t.regex(plan, /Index Only Scan using posts_newest_by_status/v);
      t.notRegex(plan, /Seq Scan on posts/v, plan);
    }
  },
);
