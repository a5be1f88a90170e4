import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { knownSettings } from '../../runtime/config/settings.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (file: string): string => readFileSync(`${root}/${file}`, 'utf8');
const namesIn = (text: string, pattern: RegExp): readonly string[] =>
  [...new Set([...text.matchAll(pattern)].map(([, name = '']) => name))].toSorted();

/** A setting of an earlier version, and a name in an example of the API. */
const none = new Set(['PUNCTUAL_EGRESS_ALLOW', 'PUNCTUAL_SECRET']);

test('the page of settings and the list of known names have exactly the settings that the programs read', (t) => {
  const folders = 'accounts,activities,api,cli,db,networks,runtime,sandbox,scripts,temporal,worker';
  const files = globSync(`{${folders}}/**/*.{ts,mjs}`, { cwd: root });
  const sources = files
    .filter((file) => !file.endsWith('config/settings.ts'))
    .map(read)
    .join('\n');
  const known = namesIn(sources, /\b(PUNCTUAL_[A-Z\d_]+)\b(?!_)/gv);
  const described = namesIn(read('docs/settings.md'), /`(PUNCTUAL_[A-Z\d_]+)`/gv);
  t.true(known.length > 30);
  const without = (names: readonly string[], others: readonly string[]) =>
    names.filter((name) => !none.has(name) && !others.includes(name));
  t.deepEqual(without(described, known), []);
  t.deepEqual(without(known, described), []);
  t.deepEqual(without(knownSettings, known), []);
  t.deepEqual(without(known, knownSettings), []);
});
