import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { finishRestore } from '../../db/restore-counter.ts';
import { claimPost } from '../../activities/claim-post.ts';
import { beginSend, setStatus, storeChannel } from '../support/seed.ts';
import { newClient } from '../support/client.ts';
import { startApi } from '../support/punctual.ts';
import { parseAdmin } from '../cli/admin/admin.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (file: string): string => readFileSync(`${root}/${file}`, 'utf8');
const pages = globSync('docs/**/*.md', { cwd: root }).map(read);
const runbook = read('docs/operate/operations.md');

test('each command in the pages and the README exists', async (t) => {
  const calls = [...pages, read('README.md')].flatMap((text) =>
    [...text.matchAll(/npm run admin -- (?<call>[^`\n#…]+)(?<rest>…?)/gv)]
      .filter(({ groups }) => groups?.['rest'] !== '…')
      .map(({ groups }) => groups?.['call']?.trim() ?? ''),
  );
  t.true(calls.length > 15);
  for (const call of new Set(calls.filter((one) => !/^(?:help|--version)/v.test(one)))) {
    const words = [...call.matchAll(/"(?<quoted>[^"]*)"|\S+/gv)].map(
      ([word, quoted]) => quoted ?? word,
    );
    await t.notThrowsAsync(parseAdmin(words), call);
  }
});

test("the logs and answers that the page quotes are the programs' own", (t) => {
  const folders = ['activities', 'worker', 'workflows', 'temporal', 'cli'];
  const sources = folders
    .flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: root }))
    .map(read)
    .join('\n');
  for (const quoted of [
    'Temporal is behind',
    'no workflow runs for this row: the relay starts one',
    'the workflow of this overdue post still sleeps: the relay wakes it',
  ]) {
    t.true(runbook.includes(`\`${quoted}\``), quoted);
    t.true(sources.includes(quoted), quoted);
  }
});

test('after the page’s steps no post of a restored database is published twice, and each can be settled', async (t) => {
  const punctual = await startApi(t);
  const em = punctual.orm.em.fork();
  const client = await newClient(punctual);
  const { workspaceId } = client;
  const channel = await storeChannel(punctual, workspaceId);
  const make = async (more: object): Promise<string> =>
    (await client.post('/posts', { body: 'x', channel_ids: [channel], ...more })).body.post.id;
  const soon = { schedule_in_minutes: 0 };
  const later = { schedule_in_minutes: 60 };
  const [due, retrying, listed, draft] = [
    await make(soon),
    await make(soon),
    await make(later),
    await make({}),
  ];
  const [asleep, untouched] = [await make(later), await make({})];
  await em.execute(`update posts set status = 'publishing' where id = ?`, [retrying]);
  await em.execute(`update post_channels set status = 'retrying' where post_id = ?`, [retrying]);
  const doubted = await make(later);
  await setStatus(punctual, doubted, 'failed', ['unconfirmed']);
  await beginSend(punctual, doubted);
  await em.execute(`update post_parts set state = 'ready', sending_at = null`); // A later part.
  const show = async (id: string) => (await client.get(`/posts/${id}`)).body.post;
  const before = [await show(asleep), await show(untouched)];

  const known = { begun: [listed, draft, doubted], unsent: [], at: new Date() };
  const finished = await punctual.orm.em
    .fork()
    .transactional((own) => finishRestore(own, known, 0));

  t.is(finished.unconfirmedChannels, 4);
  t.like(await em.execute('select state from post_parts'), [{ state: 'sending' }]);
  t.deepEqual([await show(asleep), await show(untouched)], before);
  for (const id of [due, retrying, listed, draft]) {
    t.like(await show(id), { status: 'failed', summary: { failed: 1, pending: 0 } });
    const request = { workspaceId, postId: id, nowMs: Date.now() + 7_200_000, revision: 1 };
    t.is((await claimPost(punctual.deps, request)).kind, 'gone');
    t.is((await client.post(`/posts/${id}/retry`)).body.code, 'nothing_to_retry');
    const answer = { channel_id: channel, url: id === due ? 'https://social.test/@ana/1' : null };
    const { body } = await client.post(`/posts/${id}/settle`, answer);
    t.is(body.post?.status, id === due ? 'published' : 'failed', JSON.stringify(body));
  }

  t.is((await client.post(`/posts/${listed}/retry`)).status, 202);
});

/** Signals and error codes are written in capitals too. */
const notSettings = /^(?:SIG|EADDR)/v;

test('docs/operate/settings.md has every setting that the programs read', (t) => {
  const sources = [
    // Its list also has names that are not our settings; settings.test.ts compares it with the page.
    ...globSync('runtime/config/!(settings).ts', { cwd: root }),
    ...globSync('networks/*/{entry,prices}.ts', { cwd: root }),
    'scripts/start/start-plan.ts',
    'sandbox/main.ts',
  ].map(read);
  const names = new Set(
    sources.flatMap((source) =>
      [...source.matchAll(/'(?<name>[A-Z][A-Z0-9_]{3,})'/gv)].map((m) => m[1]),
    ),
  );
  const settings = read('docs/operate/settings.md');

  t.true(names.has('PUNCTUAL_EGRESS_ALLOW_NETWORKS') && names.has('PUNCTUAL_RATE_LIMIT_WRITES'));
  t.deepEqual(
    [...names].filter((name) => !notSettings.test(name ?? '') && !settings.includes(`\`${name}\``)),
    [],
  );
});

test('the table of retention times has every setting for them, and every table that grows', (t) => {
  const [, section = ''] = read('docs/operate/running.md').split('## What is kept how long');
  const [table = ''] = section.split('\n## ');
  const settings = [...read('runtime/config/read-config.ts').matchAll(/PUNCTUAL_KEEP_\w+/gv)];
  t.true(settings.length >= 3);
  const rows = ['posts', 'idempotency keys', 'post_parts', 'events'];
  for (const word of [...settings.map(([name]) => name), ...rows]) {
    t.true(table.includes(word), word);
  }
});

const headingsOf = (text: string): Set<string> =>
  new Set(
    [...text.matchAll(/^#+ (?<title>.+)$/gmv)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\w \-]/gv, '')
        .replaceAll(' ', '-'),
    ),
  );

test('each file and heading that a page or the README links to exists', (t) => {
  const files = ['README.md', ...globSync('docs/**/*.md', { cwd: root })];
  const links = files.flatMap((file) =>
    [...read(file).matchAll(/\]\((?<to>[^\):]+)\)/gv)].map(([, to = '']) => ({ file, to })),
  );

  t.true(links.length > 20);
  for (const { file, to } of links) {
    const [name = '', heading] = to.split('#');
    const target = name === '' ? file : path.join(path.dirname(file), name);
    t.notThrows(() => read(target), `${file}: ${to}`);
    t.true(heading === undefined || headingsOf(read(target)).has(heading), `${file}: ${to}`);
  }
});

test('each file of the project that a page or the README names exists', (t) => {
  const files = ['README.md', ...globSync('docs/**/*.md', { cwd: root })];
  const named = files.flatMap((file) =>
    [...read(file).matchAll(/`(?<name>[a-z][\w\-]*\/[\w\-.\/]+\.(?:ts|json|mjs))`/gv)].map(
      ([, name = '']) => ({ file, name }),
    ),
  );

  t.true(named.length > 30);
  for (const { file, name } of named) {
    t.notThrows(() => read(name), `${file}: ${name}`);
  }
});

test('the README is short', (t) => {
  t.true(read('README.md').split('\n').length <= 200);
});
