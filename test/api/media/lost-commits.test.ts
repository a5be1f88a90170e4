import type { Socket } from 'node:net';
import { Client as PgClient } from 'pg';
import { holdLock } from '../../support/hold-lock.ts';
import { beforeTests } from '../../support/kit.ts';
import { newClient } from '../../support/client.ts';
import { picture } from '../../support/media-files.ts';
import {
  linkTo,
  newFilesOf,
  rowsOf,
  startLibrary,
  sweepLibrary,
  unsettledOf,
  upload,
} from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
import { poll } from '../../support/poll.ts';
import { storeChannel } from '../../support/seed.ts';
import { ca, fileServer } from './support/file-server.ts';

// In series, because they cut connections of one API.
const test = needs('postgres').serial;

const library = beforeTests(needs('postgres'), async (scope) => {
  const server = await fileServer(scope);
  const site = server.newSite({ '/a.png': await picture() });
  const punctual = await startLibrary(scope, { ca, allowPorts: [server.port] });
  const em = punctual.orm.em.fork();
  // Simulates a slow disk or standby: a commit that changes files waits while the test holds the lock.
  await em.execute(`create function wait_for_test() returns trigger language plpgsql as $$
    begin perform pg_advisory_xact_lock_shared(hashtext(new.workspace_id::text)); return null; end $$`);
  await em.execute(`create constraint trigger slow_commit after update on media_files
    deferrable initially deferred for each row execute function wait_for_test()`);
  // Every file is registered two hours ago, so that no sweep skips it for its age.
  await em.execute(`create function begin_early() returns trigger language plpgsql as $$
    begin new.created_at = new.created_at - interval '2 hours'; return new; end $$`);
  await em.execute(`create trigger begin_early before insert on media_files
    for each row execute function begin_early()`);
  return { site, punctual };
});

/** Connections with an unanswered COMMIT. */
const committing = new Set<PgClient>();
const { prototype } = PgClient;
const query = prototype.query as (...args: unknown[]) => unknown;
prototype.query = function watched(this: PgClient, ...args: unknown[]): unknown {
  const [first] = args;
  const text = typeof first === 'string' ? first : (first as { text?: string }).text;
  if (text?.toLowerCase() === 'commit') {
    committing.add(this);
  } else {
    committing.delete(this);
  }

  return query.apply(this, args);
} as typeof prototype.query;

function cutCommits(): void {
  for (const client of committing) {
    (client as PgClient & { connection: { stream: Socket } }).connection.stream.destroy();
  }

  committing.clear();
}

/**
 * A workspace, and a function that makes a call lose its connection during the COMMIT, which continues on the server
 * until it is released.
 */
async function workspace(t: Parameters<typeof holdLock>[0]) {
  const { punctual, site } = library();
  const client = await newClient(punctual);
  /** @returns the call's response, and a function that releases its commit. */
  const loseAnswer = async <T>(call: () => Promise<T>) => {
    const hold = await holdLock(
      t,
      punctual.orm,
      `select pg_advisory_xact_lock(hashtext('${client.workspaceId}'))`,
    );
    committing.clear();
    const answer = call();
    await poll(hold.waiting, (count) => count === 1);
    cutCommits();
    return { answer: await answer, hold };
  };
  return { punctual, client, url: site.at('/a.png'), loseAnswer };
}

test('an upload whose commit loses its connection keeps the file of its row', async (t) => {
  const { punctual, client, loseAnswer } = await workspace(t);
  const bytes = await picture();
  const { answer, hold } = await loseAnswer(() => upload(punctual, client, { bytes }));
  t.is(answer.status, 503);
  hold.release();
  const { body } = await poll(
    () => client.get('/media'),
    ({ body: { media } }) => media.length === 1,
  );

  t.is((await fetch(linkTo(punctual, body.media[0].url))).status, 200);
});

test('a post whose commit loses its connection is replayed with an existing picture', async (t) => {
  const { punctual, client, url, loseAnswer } = await workspace(t);
  const channel = await storeChannel(punctual, client.workspaceId);
  const create = () =>
    client.post(
      '/posts',
      { body: 'Look', media_urls: [url], channel_ids: [channel], schedule_in_minutes: 60 },
      { 'idempotency-key': 'once' },
    );
  const { answer, hold } = await loseAnswer(create);
  t.is(answer.status, 503);
  const again = create();
  hold.release();
  const { status, headers, body } = await again;

  t.is(status, 200);
  t.is(headers.get('idempotency-replayed'), 'true');
  t.is((await fetch(linkTo(punctual, body.post.media[0].url))).status, 200);
  t.is(await rowsOf(punctual, client.workspaceId), 1);
});

test('a deletion whose commit loses its connection leaves no bytes after the next sweeps', async (t) => {
  const { punctual, client, loseAnswer } = await workspace(t);
  const files = await newFilesOf(punctual);
  const { media } = (await upload(punctual, client, { bytes: await picture() })).body;
  const { answer, hold } = await loseAnswer(() => client.delete(`/media/${media.id}`));
  t.is(answer.status, 503);
  await sweepLibrary(punctual);
  t.deepEqual(await files(), [media.id]);

  hold.release();
  await poll(
    () => client.get('/media'),
    ({ body }) => body.media.length === 0,
  );
  await sweepLibrary(punctual);
  t.deepEqual(await files(), []);
  t.deepEqual(await unsettledOf(punctual), []);
});

test('a sweep skips files of a commit that is under way', async (t) => {
  const { punctual, client, loseAnswer } = await workspace(t);
  const bytes = await picture();
  const { hold } = await loseAnswer(() => upload(punctual, client, { bytes }));
  await sweepLibrary(punctual);
  hold.release();
  const { body } = await poll(
    () => client.get('/media'),
    ({ body: { media } }) => media.length === 1,
  );

  t.is((await fetch(linkTo(punctual, body.media[0].url))).status, 200);
  t.deepEqual(await unsettledOf(punctual), []);
});
