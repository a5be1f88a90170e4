import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { platforms } from '../../networks/registry.ts';
import { networks as played } from '../../sandbox/registry.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folders =
  'api,activities,cli,db,domain,networks,runtime,sandbox,scripts,services,temporal,worker,workflows';

/** Examples of the OpenAPI document show accounts, and migrations describe earlier states. */
const showsOne = /\/examples\.ts$|^db\/migrations\/|^api\/openapi\/|schemas\.ts$/;

test('a new network needs its folder and one line in each registry: no other code names one', (t) => {
  const names = platforms.join('|');
  const literal = new RegExp(`(['"\`])(?:${names})\\1`, 'v');
  const ownFolder = new RegExp(`^(?:networks|sandbox)/(?:${names})/`, 'v');
  const sources = globSync(`{${folders}}/**/*.ts`, { cwd: root }).filter(
    (file) => !ownFolder.test(file) && !showsOne.test(file),
  );
  t.true(sources.length > 200);
  const naming = sources.filter((file) => {
    const code = readFileSync(path.join(root, file), 'utf8').replaceAll(
      /\/\*[^]*?\*\/|\/\/.*$/gmv,
      '',
    );
    return literal.test(code);
  });
  t.deepEqual(naming, []);

  const importing = sources.filter((file) => {
    const code = readFileSync(path.join(root, file), 'utf8');
    return new RegExp(`from '[^']*/(?:${names})/`, 'v').test(code);
  });
  t.deepEqual(importing.toSorted(), ['networks/registry.ts', 'sandbox/registry.ts']);
});

test('the sandbox implements every network that posts can be published to', (t) => {
  t.deepEqual(played.map(({ id }) => id).toSorted(), platforms.toSorted());
});
