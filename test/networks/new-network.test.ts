import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { platforms } from '../../networks/registry.ts';
import { networks as played } from '../../sandbox/registry.ts';
import { networkFacts } from '../chaos/network-facts.ts';
import { subjects } from '../fuzz-bytes/subjects.ts';

const names = platforms.join('|');
const literal = new RegExp(`(['"\`])(?:${names})\\1`, 'v');
const entry = new RegExp(`^  (?:${names}): [\\{\\[]`, 'mv');

/** Whether the code, without its comments, has a network's name as a text or as the name of an entry. */
function namesNetwork(file: string): boolean {
  const code = readFileSync(path.join(root, file), 'utf8');
  const bare = code.replaceAll(/\/\*[^]*?\*\/|\/\/.*$/gmv, '');
  return literal.test(bare) || entry.test(bare);
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const folders =
  'api,activities,cli,db,domain,networks,runtime,sandbox,scripts,services,temporal,worker,workflows';

/** Examples of the OpenAPI document, also in routes, show accounts, and migrations describe earlier states. */
const showsOne = /\/examples\.ts$|^db\/migrations\/|^api\/(?:openapi\/|.*routes\.ts$)|schemas\.ts$/;

test('a new network needs its folder and one line in each registry: no other code names one', (t) => {
  const ownFolder = new RegExp(`^(?:networks|sandbox)/(?:${names})/`, 'v');
  const sources = globSync(`{${folders}}/**/*.ts`, { cwd: root }).filter(
    (file) => !ownFolder.test(file) && !showsOne.test(file),
  );
  t.true(sources.length > 200);
  t.deepEqual(sources.filter(namesNetwork), []);

  const importing = sources.filter((file) => {
    const code = readFileSync(path.join(root, file), 'utf8');
    return new RegExp(`from '[^']*/(?:${names})/`, 'v').test(code);
  });
  t.deepEqual(importing.toSorted(), ['networks/registry.ts', 'sandbox/registry.ts']);
});

test('the sandbox implements every network that posts can be published to', (t) => {
  t.deepEqual(played.map(({ id }) => id).toSorted(), platforms.toSorted());
});

test('a suite of all networks has one file with facts about them, with an entry for each', (t) => {
  const suites = globSync('test/{chaos,fuzz-bytes,histories}/**/*.ts', { cwd: root });
  t.deepEqual(
    suites.filter((file) => !file.endsWith('.test.ts') && namesNetwork(file)).toSorted(),
    [
      'test/chaos/check/good-evidence.ts', // For tests of the checks.
      'test/chaos/network-facts.ts',
      'test/chaos/networks/real-networks.ts',
      'test/fuzz-bytes/subjects.ts',
    ],
  );
  for (const facts of [networkFacts, subjects]) {
    t.deepEqual(Object.keys(facts).toSorted(), platforms.toSorted());
  }
});
