import { readFile } from 'node:fs/promises';
import test from 'ava';
import { raw } from '@mikro-orm/core';
import { startReadyApi } from '../support/api-process.ts';
import { clientFor } from '../support/client.ts';
import { env } from '../support/env.ts';
import { holdLock } from '../support/hold-lock.ts';
import { sharedDatabase, sharedPunctual } from '../support/kit.ts';
import { poll } from '../support/poll.ts';
import { addFakeChannel } from '../support/seed.ts';

const port = 1; // No server listens, and nothing is sent.
const api = sharedPunctual(test, { allowPorts: [port] });
const database = sharedDatabase(test);

const run = (sql: string, values: unknown[] = []) =>
  api.punctual.orm.em.fork().execute<Record<string, unknown>[]>(sql, values);

/** Makes every write to a table fail while its name is in `broken`. */
async function breakable(tables: readonly string[]): Promise<void> {
  await run('create table broken (name text primary key)');
  await run(`create function break_down() returns trigger language plpgsql as $$ begin
    if exists (select from broken where name = tg_table_name) then
      raise exception 'broke %', tg_table_name;
    end if;
    return new;
  end $$`);
  for (const table of tables) {
    await run(`create trigger break_down before insert or update on ${table}
      for each row execute function break_down()`);
  }
}

const log = (): Promise<string> => readFile(env('PUNCTUAL_TEST_POSTGRES_LOG'), 'utf8');

/** Acts while writes to a table fail, until PostgreSQL's log has the error. */
async function whileBroken(table: string, work: () => Promise<unknown>): Promise<void> {
  const before = (await log()).length;
  await run('insert into broken values (?)', [table]);
  await work();
  await poll(log, (text) => text.slice(before).includes(`ERROR:  broke ${table}`));
  await run('delete from broken where name = ?', [table]);
}

test.serial(
  'no failing statement puts a text or a secret into the log of PostgreSQL or into ours',
  async (t) => {
    const client = await api.newClient();
    const { databaseUrl, secretKey, temporalEnv, orm, deps } = api.punctual;
    await breakable(['posts', 'idempotency_keys', 'webhook_endpoints', 'post_parts', 'events']);
    const process = await startReadyApi(t, {
      ...temporalEnv,
      DATABASE_URL: databaseUrl,
      SECRET_KEY: secretKey,
      PUNCTUAL_EGRESS_ALLOW_WEBHOOKS: `127.0.0.1/32:${port}`,
      LOG_LEVEL: 'trace',
    });
    const other = clientFor(process.url, client.workspaceId, client.key);
    // Its first connections may take long.
    await poll(
      () => other.get('/me'),
      ({ status }) => status === 200,
    );
    const words = `words-${crypto.randomUUID()}`;
    const later = `later-${crypto.randomUUID()}`;
    const once = `once-${crypto.randomUUID()}`;
    const inUrl = `token-${crypto.randomUUID()}`;
    const channel = await addFakeChannel({ orm, sealer: deps.sealer }, client.workspaceId);
    const post = { body: words, channel_ids: [channel], schedule_in_minutes: 0.02 };
    const draft = { body: words };
    const hook = { url: `http://127.0.0.1:${port}/?t=${inUrl}`, events: ['post.published'] };
    const fails = async (call: Promise<{ readonly status: number }>): Promise<void> =>
      void t.is((await call).status, 500);

    await whileBroken('posts', () => fails(other.post('/posts', draft)));
    await whileBroken('idempotency_keys', () =>
      fails(other.post('/posts', { ...draft, idempotency_key: once })),
    );
    await whileBroken('webhook_endpoints', () => fails(other.post('/webhooks', hook)));
    const made = (await other.post('/posts', draft)).body.post.id;
    await whileBroken('posts', () => fails(other.patch(`/posts/${made}`, { body: later })));
    t.is((await other.post('/webhooks', hook)).status, 201);
    await whileBroken('events', () => fails(client.post('/posts', post)));
    let id = '';
    await whileBroken('post_parts', async () => {
      id = (await client.post('/posts', post)).body.post.id;
    });

    t.is((await client.finalPost(id)).status, 'published');
    const message = `${await log()}\n${process.log()}`;
    t.true(message.includes('insert into posts'));
    for (const planted of [words, later, once, inUrl, client.key, 'token-of-the-channel']) {
      t.false(message.includes(planted), planted);
    }
  },
);

test.serial(
  'a row that violates a constraint is not quoted in the log of our PostgreSQL',
  async (t) => {
    const words = `words-${crypto.randomUUID()}`;
    await run('create table checked (words text unique check (length(words) < 50))');
    await run('insert into checked values (?)', [words]);
    const failures = [words, words.repeat(2)].map((each) =>
      t.throwsAsync(run('insert into checked values (?)', [each])),
    );
    await Promise.all(failures);
    const message = await poll(log, (text) => /check constraint "checked_words_check"/v.test(text));

    t.regex(message, /unique constraint "checked_words_key"/v);
    t.false(message.includes(words));
  },
);

test.serial('PostgreSQL shows running statements without texts', async (t) => {
  const client = await api.newClient();
  const words = `words-${crypto.randomUUID()}`;
  const held = await holdLock(t, api.punctual.orm, 'lock table posts in share mode');
  const made = client.post('/posts', { body: words });
  const shown = await poll(
    () =>
      run(`select query from pg_stat_activity
           where datname = current_database() and wait_event_type = 'Lock' and query not like 'lock%'`),
    (rows) => rows.length > 0,
  );
  held.release();
  t.is((await made).status, 201);
  t.regex(String(shown[0]?.['query']), /\$\d+::uuid[^?]*insert into posts/v);
  t.false(JSON.stringify(shown).includes(words));
});

test('each kind of value arrives unchanged, as a parameter or not', async (t) => {
  const em = database().orm.em.fork();
  const at = new Date('2027-03-01T09:00:00.123Z');
  const [row] = await em.execute<Record<string, unknown>[]>(
    `select ?::text as text, ? + 1 as number, ?::boolean as yes, ?::text as nothing, ?::timestamptz as at,
       ?::jsonb as json, ?::bytea as bytes, ?::bigint as big, 'a' in (?) as listed, ? as raw, 'a\\?' as mark, ?? as name
     from (select 'named' as "col") t`,
    [
      `it's \\ "? $1`,
      1,
      true,
      null,
      at,
      { a: [1, "'"] },
      Buffer.from([0, 255]),
      2n ** 60n,
      ['b', 'a'],
      raw('upper(?)', ['x']),
      'col',
    ],
  );
  t.deepEqual(row, {
    text: `it's \\ "? $1`,
    number: 2,
    yes: true,
    nothing: null,
    at,
    json: { a: [1, "'"] },
    bytes: Buffer.from([0, 255]),
    big: String(2n ** 60n),
    listed: true,
    raw: 'X',
    mark: 'a?',
    name: 'named',
  });
  t.deepEqual(await em.execute(`select 'why?' as word`), [{ word: 'why?' }]);
  const named = await em.execute('select :word::text as word', { word: 'x' } as never);
  t.deepEqual(named, [{ word: 'x' }]);
  const tooMany = em.execute('select 1 where 1 in (?)', [Array.from({ length: 65_536 }, String)]);
  await t.throwsAsync(tooMany, { message: /^A statement takes 65535 values/v });
});
