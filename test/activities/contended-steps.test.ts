import test from 'ava';
import { type ChannelStatus, type PostStatus } from '../../domain/statuses.ts';
import { refreshPost } from '../../services/analytics/load-reports.ts';
import { fakeNetwork } from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';
import type { PostSteps } from '../support/post-steps.ts';
import { untilBlocked } from '../support/until-blocked.ts';

// An attempt has one path for an untouched post and one for a post that changed meanwhile. Of two equal posts, the first
// takes the one path and the second the other: a transaction changes its row and commits while the attempt waits for it.

const { newSteps } = onOneDatabase(test);

type Row = {
  readonly status: PostStatus;
  readonly channels: readonly ChannelStatus[];
  /** How long the post has been due, in milliseconds; negative before its due time. */
  readonly dueForMs: number;
  readonly isRetried: boolean;
};

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
