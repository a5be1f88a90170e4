import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
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
