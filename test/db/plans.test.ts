import { newClient } from '../support/client.ts';
import { needs } from '../support/needs.ts';
import { startApi, type Punctual } from '../support/punctual.ts';
import { fillWorkspaces } from './many-workspaces.ts';
import { watchStatements, type Sent } from './watch-statements.ts';

const test = needs('postgres');

/** What EXPLAIN says of a step and of the steps below it. */
type Step = {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly Plans?: readonly Step[];
};

/** The tables that grow for ever. The others are small, and read whole where that is quicker. */
const large: ReadonlySet<string | undefined> = new Set([
  'posts',
  'post_channels',
  'media_files',
  'deliveries',
  'delivery_attempts',
  'events',
]);

/** The index that each list finds its first rows by, in the list's own order; null where more than one is as good. */
const lists = (endpointId: string): Readonly<Record<string, string | null>> => ({
  '/posts': 'posts_newest',
  '/posts?status=failed': 'posts_newest_by_status',
  '/media': 'media_files_newest',
  '/media?type=image&search=7.png': 'media_files_newest',
  '/webhooks': 'deliveries_newest',
  [`/webhooks/${endpointId}`]: 'deliveries_newest',
  [`/webhooks/${endpointId}/deliveries`]: null,
  [`/webhooks/${endpointId}/deliveries?status=failed`]: null,
  [`/webhooks/${endpointId}/deliveries?event_type=post.failed`]: null,
  '/analytics': 'posts_published',
  '/analytics?sort=likes&platform=mastodon': 'posts_published',
});

test('every list of a workspace among many finds its rows by an index, also on its second page', async (t) => {
  t.timeout(120_000);
  const statementsOf = watchStatements();
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const endpointId = await fillWorkspaces(punctual, client.workspaceId);

  for (const [path, index] of Object.entries(lists(endpointId))) {
    const first = await client.get(path);
    t.is(first.status, 200, path);
    const cursor: string | undefined = first.body.next_cursor ?? undefined;
    const again = `${path}${path.includes('?') ? '&' : '?'}cursor=${cursor}`;
    for (const page of cursor === undefined ? [path] : [path, again]) {
      const steps = await stepsOf(punctual, await statementsOf(() => client.get(page)));
      t.true(
        index === null || steps.some((step) => step['Index Name'] === index),
        `${page} makes no use of ${index}`,
      );
      const whole = steps.filter((step) => step['Node Type'] === 'Seq Scan');
      t.deepEqual(
        whole.filter((step) => large.has(step['Relation Name'])),
        [],
        `${page} reads the whole of these`,
      );
    }
  }
});

async function stepsOf({ orm }: Punctual, sent: readonly Sent[]): Promise<Step[]> {
  const em = orm.em.fork();
  const steps: Step[] = [];
  for (const { text, values } of sent) {
    // With values beside it, it is about keys or limits, and comes before every call.
    if (/^\s*(?:select|with)\b/iv.test(text) && values.length === 0) {
      const [row] = await em.execute<{ 'QUERY PLAN': [{ Plan: Step }] }[]>(
        `explain (format json) ${text.replaceAll('?', String.raw`\?`)}`,
      );
      steps.push(...(row ? flatten(row['QUERY PLAN'][0].Plan) : []));
    }
  }

  return steps;
}

const flatten = (step: Step): Step[] => [step, ...(step.Plans ?? []).flatMap(flatten)];
