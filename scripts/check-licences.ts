import { readFile } from 'node:fs/promises';

// `npm run licences`: checks the licences of all production dependencies. Reads only the lock file, so it covers
// packages for other platforms too. With exit code 1, it lists the packages to review.

/** Licences that only require attribution. The last four do not affect our own code while the package is unmodified. */
const allowed: ReadonlySet<string> = new Set([
  'MIT',
  'MIT-0',
  'ISC',
  '0BSD',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'Unlicense',
  'CC0-1.0',
  'CC-BY-4.0',
  'MPL-2.0',
  'LGPL-3.0-or-later',
]);

/** Licences that are missing in the lock file because of their form in package.json, read by hand in the package. */
const readByHand: Readonly<Record<string, string>> = {
  busboy: 'MIT',
  streamsearch: 'MIT',
  'twitter-text': 'Apache-2.0',
  unionfs: 'Unlicense',
};

type Entry = { readonly license?: string; readonly dev?: boolean };

const lock = JSON.parse(
  await readFile(new URL('../package-lock.json', import.meta.url), 'utf8'),
) as {
  readonly packages: Readonly<Record<string, Entry>>;
};
const running = Object.entries(lock.packages).filter(([place, { dev }]) => place !== '' && !dev);
const refused = running.flatMap(([place, { license }]) => {
  const name = place.split('node_modules/').at(-1) ?? place;
  const said = license ?? readByHand[name] ?? 'unknown';
  return isAllowed(said) ? [] : [`${name}: ${said}`];
});
console.log(`${running.length} packages checked, ${refused.length} with a licence to review.`);
for (const line of refused) {
  console.error(line);
}

process.exitCode = refused.length > 0 ? 1 : 0;

/** AND requires all, OR one. */
function isAllowed(expression: string): boolean {
  return expression
    .replaceAll(/[\(\)]/gv, '')
    .split(' OR ')
    .some((one) => one.split(' AND ').every((each) => allowed.has(each)));
}
