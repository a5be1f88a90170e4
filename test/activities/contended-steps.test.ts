import test, { type ExecutionContext } from 'ava';
import * as fc from 'fast-check';
import type { Orm } from '../../db/orm.ts';
import {
  channelStatuses,
  postStatuses,
  type ChannelStatus,
  type PostStatus,
} from '../../domain/statuses.ts';
import { refreshPost } from '../../services/analytics/refresh-metrics.ts';
import { fakeNetwork } from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';
import type { PostSteps } from '../support/post-steps.ts';
import { untilBlocked } from '../support/until-blocked.ts';

// An attempt has one path for an untouched post and one for a post that changed meanwhile. Of two equal posts, the first
// takes the one path and the second the other: a transaction changes its row and commits while the attempt waits for it.

const { newSteps } = onOneDatabase(test);
const minute = 60_000;
const cases = 25;

type Row = {
  readonly status: PostStatus;
  readonly channels: readonly ChannelStatus[];
  /** How long the post has been due, in milliseconds; negative before its due time. */
  readonly dueForMs: number;
  readonly isRetried: boolean;
};

const rows: fc.Arbitrary<Row> = fc.record({
  status: fc.constantFrom(...postStatuses, 'publishing' as const, 'scheduled' as const),
  channels: fc.array(fc.constantFrom(...channelStatuses), { minLength: 2, maxLength: 2 }),
  dueForMs: fc.constantFrom(-minute, 0, 1000, 30 * minute, 25 * 60 * minute),
  isRetried: fc.boolean(),
});

const seed = Number(process.env['PUNCTUAL_TEST_SEED'] ?? Date.now() % 100_000);

async function world(t: ExecutionContext) {
  const networks = { a: fakeNetwork(), b: fakeNetwork() };
  const steps = await newSteps(t, networks);
  await steps.subscribe('post.published', 'post.partial', 'post.failed');
  return { steps, sends: () => [networks.a.sends.length, networks.b.sends.length] };
}

/** Stores a post like `row`. @returns its id. */
async function store(steps: PostSteps, row: Row): Promise<string> {
  const channel_ids = Object.values(steps.channels);
  const id = await steps.create({ body: 'Hello', channel_ids, schedule_in_minutes: 0 });
  const { orm, now } = steps.deps;
  const dueAt = new Date(now().getTime() - row.dueForMs);
  const em = orm.em.fork();
  await em.execute(
    'update posts set status = ?, scheduled_at = ?, retried_at = ?, revision = 2 where id = ?',
    [row.status, row.status === 'draft' ? null : dueAt, row.isRetried ? dueAt : null, id],
  );
  for (const [position, status] of row.channels.entries()) {
    await em.execute('update post_channels set status = ? where post_id = ? and position = ?', [
      status,
      id,
      position,
    ]);
  }

  return id;
}

/** Runs a step while another transaction holds the post's row. */
async function whileChanged<T>(orm: Orm, post: string, step: () => Promise<T>): Promise<T> {
  let taken: Promise<T> | undefined;
  await orm.em.fork().transactional(async (em) => {
    await em.execute('update posts set updated_at = updated_at where id = ?', [post]);
    taken = step();
    await Promise.race([taken.catch(() => undefined), untilBlocked(orm)]);
  });
  return taken as Promise<T>;
}

/** The state of a post, without the values that differ between any two posts. */
async function outcome({ deps, events }: PostSteps, post: string): Promise<unknown> {
  const em = deps.orm.em.fork();
  const [row] = await em.execute<unknown[]>(
    `select status, run, revision, scheduled_at is null as is_draft, published_at is null as is_out,
       (select json_agg(json_build_array(status, error_code, tries, url is null, sent_text) order by position)
        from post_channels where post_id = posts.id) as channels,
       (select json_agg(json_build_array(part, run, state) order by part, run) from post_parts
        where post_channel_id in (select id from post_channels where post_id = posts.id)) as parts
     from posts where id = ?`,
    [post],
  );
  return { row, events: await events(post) };
}

/** The result with ids replaced by the order of their first use. */
const withoutIds = (answer: unknown): unknown => {
  const seen = new Map<string, number>();
  const text = JSON.stringify(answer ?? null).replaceAll(
    /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gv,
    (id) => {
      seen.set(id, seen.get(id) ?? seen.size);
      return `id ${seen.get(id)}`;
    },
  );
  return JSON.parse(text);
};

/** Runs a step on two equal posts, one for each path, and compares the results. */
async function sameByBoth(
  t: ExecutionContext,
  steps: PostSteps,
  row: Row,
  step: (post: string) => Promise<unknown>,
): Promise<void> {
  const [alone, changed] = [await store(steps, row), await store(steps, row)];
  const first = await step(alone);
  const second = await whileChanged(steps.deps.orm, changed, () => step(changed));
  const message = `seed ${seed}: ${JSON.stringify(row)}`;
  t.deepEqual(withoutIds(second), withoutIds(first), message);
  t.deepEqual(await outcome(steps, changed), await outcome(steps, alone), message);
}

test('an attempt sends the same whether or not the post is changed meanwhile', async (t) => {
  const { steps, sends } = await world(t);
  const { orm } = steps.deps;
  // An overdue post waits for earlier ones, here for its twin.
  const onTime = rows.filter(({ dueForMs }) => dueForMs < minute);
  for (const row of fc.sample(onTime, { numRuns: cases, seed })) {
    const sent: unknown[] = [];
    await sameByBoth(t, steps, row, async (post) => {
      const before = sends();
      const channels = await orm.em
        .fork()
        .execute<{ id: string }[]>(
          'select id from post_channels where post_id = ? order by position',
          [post],
        );
      const answer = await steps.attempt(post, channels[0]?.id ?? '');
      sent.push(sends().map((count, index) => count - (before[index] ?? 0)));
      return 'message' in answer ? { ...answer, message: '' } : answer;
    });
    t.deepEqual(sent[1], sent[0], `seed ${seed}: ${JSON.stringify(row)}`);
  }
});

test('a retry and a refresh of the metrics of the same post do not deadlock', async (t) => {
  const steps = await newSteps(t, { a: fakeNetwork(), b: fakeNetwork(), c: fakeNetwork() });
  const { deps, workspaceId } = steps;
  const channels = ['published', 'failed', 'published'] as const;
  const row = { status: 'failed', channels, dueForMs: 0, isRetried: false } as const;
  const post = await store(steps, row);
  const em = deps.orm.em.fork();
  // The order of the channels is the reverse of that of their ids, as after an edit.
  const reversed = `update post_channels pc set position = 3 - nr, published_at = now(),
      status = case nr when 2 then 'failed' else 'published' end
    from (select id, row_number() over (order by id) as nr from post_channels where post_id = ?) ranked
    where pc.id = ranked.id`;
  await em.execute(reversed, [post]);
  const calls: Promise<unknown>[] = [];
  await em.transactional(async (holder) => {
    const first = 'select from post_channels where post_id = ? order by id limit 1 for update';
    await holder.execute(first, [post]);
    calls.push(steps.retry(post));
    await untilBlocked(deps.orm);
    calls.push(refreshPost(deps, workspaceId, post));
    await untilBlocked(deps.orm, 2);
  });

  await t.notThrowsAsync(Promise.all(calls));
});
