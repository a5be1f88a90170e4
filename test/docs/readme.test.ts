import { readFileSync } from 'node:fs';
import test from 'ava';

const read = (file: string): string =>
  readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

/** Signals and error codes are written in capitals too. */
const notSettings = /^(?:SIG|EADDR)/v;

test('the README has every setting that the programs read', (t) => {
  const sources = ['runtime/config.ts', 'scripts/start-settings.ts', 'sandbox/main.ts'].map(read);
  const names = new Set(
    sources.flatMap((source) =>
      [...source.matchAll(/'(?<name>[A-Z][A-Z_]{3,})'/gv)].map((m) => m[1]),
    ),
  );
  const readme = read('README.md');

  t.true(names.has('PUNCTUAL_EGRESS_ALLOW'));
  t.deepEqual(
    [...names].filter((name) => !notSettings.test(name ?? '') && !readme.includes(`\`${name}\``)),
    [],
  );
});

test('each folder and file that the README points at is there', (t) => {
  const links = [...read('README.md').matchAll(/\]\((?<path>[^\):]+)\)/gv)].map((m) => m[1] ?? '');

  t.true(links.length > 0);
  for (const link of links) {
    t.notThrows(() => read(link), link);
  }
});
