import { readFile } from 'node:fs/promises';

// `npm run licences`: whether all that a running Punctual is made of may be given on with it. Of the lock file alone,
// so also of packages for other platforms. Exit code 1 names what may not.

/** What asks for no more than a note, or, as the last four, leaves our own code what it is while used unchanged. */
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

/** Those whose package.json has it in a form that the lock file leaves out, read by a person in the package. */
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
  const said = license ?? readByHand[name] ?? 'none that is known';
  return isAllowed(said) ? [] : [`${name}: ${said}`];
});
console.log(
  `${running.length} packages looked at, ${refused.length} with a licence to think about.`,
);
for (const line of refused) {
  console.error(line);
}

process.exitCode = refused.length > 0 ? 1 : 0;

/** All of an AND, one of an OR. */
function isAllowed(expression: string): boolean {
  return expression
    .replaceAll(/[\(\)]/gv, '')
    .split(' OR ')
    .some((one) => one.split(' AND ').every((each) => allowed.has(each)));
}
