import { setTimeout as pause } from 'node:timers/promises';
import type { Orm } from '../../../db/orm.ts';
import { recordEvent } from '../../../db/record-event.ts';
import type { EventType } from '../../../domain/statuses.ts';
import { pullEvents } from '../../../services/events/read-events.ts';
import type { Client, Reply } from '../../support/client.ts';
import { ownPool, sharedApi } from '../../support/kit.ts';
import { noTemporal } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
import { poll } from '../../support/poll.ts';
import { storeChannel } from '../../support/seed.ts';
import { storeEvent } from '../../support/seed-deliveries.ts';

const test = needs('postgres');
const api = sharedApi(test, { temporalEnv: noTemporal, mostPerKey: 1 });

const store = (client: Client, type: EventType = 'post.failed') =>
  storeEvent(api.punctual, client.workspaceId, type);

type Read = { readonly id: string; readonly sequence: number; readonly type: string };

/** Reads from `after` to the end, page by page. */
async function readAll(client: Client, query = '', after = 0): Promise<Read[]> {
  const { body } = await client.get(`/events?after=${after}&limit=7${query}`);
  return body.has_more
    ? [...body.events, ...(await readAll(client, query, body.next_after))]
    : body.events;
}

/** Writes events in transactions that commit late, a tenth of them never. @returns the ids of the committed ones. */
async function writeEvents(orm: Orm, workspaceId: string, count: number): Promise<string[]> {
  const stored: string[] = [];
  let next = 0;
  const write = (n: number) =>
    orm.em.fork().transactional(async (em) => {
      await recordEvent(em, { workspaceId, type: 'post.failed', data: { n } });
      const [{ id } = { id: '' }] = await em.execute<{ id: string }[]>(
        'select id from events where workspace_id = ? and body like ?',
        [workspaceId, `%{"n":${n}}%`],
      );
      await pause(n % 3 === 0 ? Math.random() * 60 : 0);
      if (n % 10 === 9) {
        throw new Error('This one is rolled back.');
      }

      stored.push(id);
    });
  const writer = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      await write(next).catch(() => undefined);
    }
  };
  await Promise.all([writer(), writer(), writer(), writer()]);
  return stored;
}

const everything = { types: [], postId: undefined, from: undefined, to: undefined };

const assertStillAllowed = (): Promise<void> => Promise.resolve();

test('readers miss no event, get none twice and agree on the order, however late a change commits', async (t) => {
  const { workspaceId } = await api.newClient();
  const { databaseUrl } = api.punctual;
  // A dump: a transaction that began before all others and ends after them.
  const dump = ownPool(t, databaseUrl).em.fork();
  await dump.begin();
  await dump.execute('select pg_current_xact_id()');
  let isWriting = true;
  const never = {
    waitS: 0,
    client: new AbortController().signal,
    stop: AbortSignal.abort(),
    assertStillAllowed,
  };
  const follow = async (limit: number): Promise<string[]> => {
    const read: string[] = [];
    for (let after = 0, isLast = false; !isLast;) {
      isLast = !isWriting;
      const search = { ...everything, after, limit };
      const page = await pullEvents(api.punctual, workspaceId, search, never);
      t.deepEqual(
        page.events.map(({ sequence }) => sequence),
        page.events.map((_, index) => read.length + 1 + index),
      );
      read.push(...page.events.map(({ id }) => id));
      after = page.next_after;
      isLast &&= !page.has_more;
      await pause(Math.random() * 10);
    }

    return read;
  };
  const following = Promise.all([1, 3, 100].map(follow));
  const stored = await writeEvents(ownPool(t, databaseUrl), workspaceId, 200);
  isWriting = false;

  const [first, ...others] = await following;
  await dump.rollback();
  t.is(stored.length, 180);
  t.deepEqual(first?.toSorted(), stored.toSorted());
  for (const other of others) {
    t.deepEqual(other, first);
  }
});

test('events that the previous version stored are read in the order of their time, by filters and pages', async (t) => {
  const client = await api.newClient();
  const types = ['post.failed', 'post.partial', 'channel.at_risk'] as const;
  for (let n = 0; n < 30; n += 1) {
    await store(client, types[n % 3]);
    await pause(2); // Events of different posts in the same millisecond have no order.
  }

  const read = await readAll(client);
  t.deepEqual(
    read.map(({ sequence, type }) => `${sequence} ${type}`),
    Array.from({ length: 30 }, (_, n) => `${n + 1} ${types[n % 3]}`),
  );
  t.is((await readAll(client, '&types=post.partial,channel.at_risk')).length, 20);
  t.is((await readAll(client, '&types=channel.at_risk', 28)).length, 1);
  const [, { created_at: from } = { created_at: '' }, , { created_at: to } = { created_at: '' }] = (
    await client.get('/events')
  ).body.events as { created_at: string }[];
  const between = await readAll(client, `&from=${from}&to=${to}`);
  t.true(between.length >= 1 && between.length <= 4);
  t.deepEqual(await readAll(client, `&post_id=${crypto.randomUUID()}`), []);
  const { event } = (await client.get(`/events/${read[4]?.id}`)).body;
  t.like(event, { ...read[4] });
  const { id, type, created_at, workspace_id, data } = event;
  t.is(event.body, JSON.stringify({ id, type, created_at, workspace_id, data }));
});

test('a page of large events is short and says that more follow, and pages miss none', async (t) => {
  const client = await api.newClient();
  const { orm } = api.punctual;
  const text = 'x'.repeat(900_000);
  for (const n of [1, 2, 3, 4, 5]) {
    await orm.em.transactional((em) =>
      recordEvent(em, { workspaceId: client.workspaceId, type: 'post.failed', data: { n, text } }),
    );
  }

  const { body: first } = await client.get('/events?limit=100');
  t.is(first.events.length, 3);
  t.true(first.has_more);
  const { body: second } = await client.get(`/events?limit=100&after=${first.next_after}`);
  t.deepEqual(
    [...first.events, ...second.events].map(({ data }) => data.n),
    [1, 2, 3, 4, 5],
  );
  t.false(second.has_more);
});

test('the events of a deleted post still name it, and are found by it', async (t) => {
  const client = await api.newClient();
  const channel = await storeChannel(api.punctual, client.workspaceId);
  const post = { body: 'x', channel_ids: [channel], schedule_in_minutes: 60 };
  const { id } = (await client.post('/posts', post)).body.post;
  t.is((await client.delete(`/posts/${id}`)).status, 200);
  const [made, cancelled] = (await client.get(`/events?post_id=${id}`)).body.events;
  t.like(made, { type: 'post.scheduled', post_id: id });
  t.like(cancelled, { type: 'post.cancelled', post_id: id });
  t.is((await client.get(`/events/${made.id}`)).body.event.post_id, id);
});

const refusals = {
  'types=post.exploded': /has unknown types: post\.exploded\. Known types: post\./v,
  'types=': /has unknown types/v,
  'from=yesterday': /\?from/v,
  'after=1': /is beyond 0, the newest event.*restored/v,
  'after=-1': /after/v,
  'wait=26': /wait/v,
  'post_id=7': /post_id/v,
};
test('a query that cannot be meant so is refused, and named', async (t) => {
  const client = await api.newClient();
  for (const [query, message] of Object.entries(refusals)) {
    const { status, body } = await client.get(`/events?${query}`);
    t.is(status, 400, query);
    t.regex(body.error, message);
  }
});

test('a call that waits gets the event as soon as there is one, and leaves the slots of its key to other calls', async (t) => {
  const client = await api.newClient();
  const isTaken = ({ status }: Reply): boolean => status !== 429;
  const wait = () => poll(() => client.get('/events?wait=25&types=post.partial'), isTaken);
  const waiting = Array.from({ length: 10 }, wait);
  await poll(
    () => client.get('/events?wait=0'),
    ({ status }) => status === 429,
  );
  t.is((await client.get('/me')).status, 200);
  await store(client);
  await store(client, 'post.partial');

  for (const { status, body } of await Promise.all(waiting)) {
    t.is(status, 200);
    t.like(body, { next_after: 2, events: [{ sequence: 2, type: 'post.partial' }] });
  }
});

test('a call that waits ends when its time is over or its client leaves', async (t) => {
  const { workspaceId } = await api.newClient();
  const none = { ...everything, after: 0, limit: 1 };
  const left = new AbortController();
  const idle = { client: left.signal, stop: new AbortController().signal, assertStillAllowed };
  const wait = (waitS: number) => pullEvents(api.punctual, workspaceId, none, { waitS, ...idle });
  t.deepEqual(await wait(0.1), { events: [], next_after: 0, has_more: false, missed: null });
  const leaving = wait(600);
  left.abort(new Error('The client hung up.'));
  await t.throwsAsync(leaving, { message: 'The client hung up.' });
});
