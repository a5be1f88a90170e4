import test from 'ava';
import { createWorkspace } from '../../cli/admin/workspaces.ts';
import { newId } from '../../db/new-id.ts';
import type { Orm } from '../../db/orm.ts';
import { recordEvent } from '../../db/record-event.ts';
import { beforeTests } from '../support/before-tests.ts';
import { heldClock } from '../support/database-clock.ts';
import { freshDatabase } from '../support/database.ts';

const database = beforeTests(test, freshDatabase);

type ClaimedPost = {
  readonly orm: Orm;
  readonly workspaceId: string;
  readonly channelId: string;
  readonly postId: string;
  readonly postChannelId: string;
};

/** A workspace with a channel and a post on it. */
async function claimedPost(): Promise<ClaimedPost> {
  const { orm } = database();
  const em = orm.em.fork();
  const workspaceId = await createWorkspace(em, 'Test');
  const [postId, postChannelId] = [newId(), newId()];
  await em.execute(
    `insert into posts (id, workspace_id, body, status, created_at, updated_at)
     values (?, ?, 'x', 'publishing', now(), now())`,
    [postId, workspaceId],
  );
  const channelId = await insertChannel(orm, workspaceId);
  await em.execute(
    `insert into post_channels (id, workspace_id, post_id, channel_id, position, status)
     values (?, ?, ?, ?, 0, 'publishing')`,
    [postChannelId, workspaceId, postId, channelId],
  );
  return { orm, workspaceId, channelId, postId, postChannelId };
}

async function insertChannel(orm: Orm, workspaceId: string): Promise<string> {
  const id = newId();
  await orm.em.fork().execute(
    `insert into channels (id, workspace_id, platform, handle, remote_id, base_url,
       sealed_credentials, settings, created_at, updated_at)
     values (?, ?, 'mastodon', '@a@b', ?, 'https://b', 'sealed', '{}', now(), now())`,
    [id, workspaceId, id],
  );
  return id;
}

const insertAttempt = (
  { orm, workspaceId, postChannelId, channelId }: ClaimedPost,
  row: { part: number; remoteId: string | null; run?: number; channelId?: string },
): Promise<unknown> =>
  orm.em.fork().execute(
    `insert into post_parts (id, workspace_id, post_channel_id, channel_id, run, part, key, state,
       text, remote_data, remote_id, created_at, updated_at)
     values (?, ?, ?, ?, ?, ?, 'key', 'sent', 'x', '{}', ?, now(), now())`,
    [
      newId(),
      workspaceId,
      postChannelId,
      row.channelId ?? channelId,
      row.run ?? 1,
      row.part,
      row.remoteId,
    ],
  );

const alreadyThere = { name: 'UniqueConstraintViolationException' };

test('one post on a network is claimed by one part only', async (t) => {
  const here = await claimedPost();
  await insertAttempt(here, { part: 0, remoteId: 'status-1' });
  await t.throwsAsync(insertAttempt(here, { part: 1, remoteId: 'status-1' }), alreadyThere);
  await t.throwsAsync(insertAttempt(here, { part: 0, run: 2, remoteId: 'status-1' }), alreadyThere);
  await t.notThrowsAsync(insertAttempt(here, { part: 1, remoteId: 'status-2' }));

  const elsewhere = await insertChannel(here.orm, here.workspaceId);
  const same = { part: 2, remoteId: 'status-1', channelId: elsewhere };
  await t.notThrowsAsync(insertAttempt(here, same)); // Two servers may use the same ids.
});

test('a run of a post has one final event, however often and by how many it is recorded', async (t) => {
  const { orm, workspaceId, postId } = await claimedPost();
  await insertEndpoint(orm, workspaceId, ['post.published']);
  const record = (run: number): Promise<string[]> =>
    orm.em.fork().transactional((em) =>
      recordEvent(em, {
        workspaceId,
        type: 'post.published',
        data: {},
        final: { postId, run },
      }),
    );

  const deliveries = await Promise.all([record(1), record(1), record(1), record(1)]);

  t.is(deliveries.flat().length, 1);
  t.deepEqual(await record(1), []);
  t.is((await record(2)).length, 1);
  const events = await orm.em
    .fork()
    .execute('select run from events where post_id = ? and run is not null order by run', [postId]);
  t.deepEqual(events, [{ run: 1 }, { run: 2 }]);
});

test('each event of a post is later than the one before, even when the database’s clock goes back', async (t) => {
  const { orm, workspaceId, postId } = await claimedPost();
  const clock = await heldClock(t, database().url, Date.now());
  for (const [run, passedMs] of [
    [1, 0],
    [2, -3_600_000],
    [3, 3_600_001],
  ] as const) {
    clock.pass(passedMs);
    await clock.caughtUp();
    await clock.orm.em.fork().transactional((em) =>
      recordEvent(em, {
        workspaceId,
        type: 'post.published',
        data: {},
        final: { postId, run },
      }),
    );
  }

  const rows = await orm.em
    .fork()
    .execute<{ at: string; body: string }[]>(
      'select created_at as at, body from events where post_id = ? and run is not null order by run',
      [postId],
    );
  const [first = 0, ...later] = rows.map(({ at }) => new Date(at).getTime());
  t.deepEqual(later, [first + 1, first + 2]);
  for (const { at, body } of rows) {
    t.is(JSON.parse(body).created_at, new Date(at).toISOString());
  }
});

const insertEndpoint = (orm: Orm, workspaceId: string, events: string[]): Promise<unknown> =>
  orm.em.fork().execute(
    `insert into webhook_endpoints (id, workspace_id, url, events, sealed_secret, secret_hint, created_at)
     values (?, ?, 'https://b/hook', ?::jsonb, 'sealed', 'hint', now())`,
    [newId(), workspaceId, JSON.stringify(events)],
  );

test('an event goes to each endpoint that subscribed to it, with the same body', async (t) => {
  const { orm, workspaceId } = await claimedPost();
  await insertEndpoint(orm, workspaceId, ['post.failed', 'post.published']);
  await insertEndpoint(orm, workspaceId, ['post.failed']);
  await insertEndpoint(orm, workspaceId, ['post.published']);
  const data = { text: `'"\\ ? $1 \u2028 😀`, z: 1, a: [1.5, null] };

  const ids = await orm.em
    .fork()
    .transactional((em) => recordEvent(em, { workspaceId, type: 'post.failed', data }));

  t.is(new Set(ids).size, 2);
  const [event, ...others] = await orm.em
    .fork()
    .execute<{ id: string; body: string; created_at: string }[]>(
      'select id, body, created_at from events where workspace_id = ?',
      [workspaceId],
    );
  t.is(others.length, 0);
  const body = {
    id: event?.id,
    type: 'post.failed',
    created_at: new Date(event?.created_at ?? ''),
  };
  t.is(event?.body, JSON.stringify({ ...body, workspace_id: workspaceId, data }));
});
