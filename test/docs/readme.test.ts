import { readdirSync, readFileSync } from 'node:fs';
import test from 'ava';

const read = (file: string): string =>
  readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

/** Signals and error codes are written in capitals too. */
const notSettings = /^(?:SIG|EADDR)/v;

test('the README has every setting that the programs read', (t) => {
  const folder = 'runtime/config';
  const sources = [
    'runtime/config.ts',
    ...readdirSync(new URL(`../../${folder}`, import.meta.url)).map((file) => `${folder}/${file}`),
    'scripts/start-settings.ts',
    'sandbox/main.ts',
  ].map(read);
  const names = new Set(
    sources.flatMap((source) =>
      [...source.matchAll(/'(?<name>[A-Z][A-Z0-9_]{3,})'/gv)].map((m) => m[1]),
    ),
  );
  const readme = read('README.md');

  t.true(names.has('PUNCTUAL_EGRESS_ALLOW') && names.has('PUNCTUAL_RATE_LIMIT_WRITES'));
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
