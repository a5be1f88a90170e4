import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { installNpmPackages } from '../support/services/npm-packages.ts';

// `npm run mutations -- GROUP [FILE...]`: Stryker changes the code of a group, or of the given files of it, one place at
// a time, and reports each change that no test of the group notices.

/** The code to change and the tests that should fail. A change takes seconds in `domain`, minutes elsewhere. */
const groups = {
  domain: { mutate: 'domain/**/*.ts', tests: ['test/domain/**/*.test.ts'] },
  ledger: { mutate: 'db/ledger/**/*.ts', tests: ['test/activities/**/*.test.ts'] },
  publishing: {
    mutate: 'activities/publish-channel/**/*.ts',
    tests: ['test/activities/**/*.test.ts', 'test/publishing/**/*.test.ts'],
  },
} as const;

const [name = '', ...files] = process.argv.slice(2);
const group = Object.hasOwn(groups, name) ? groups[name as keyof typeof groups] : undefined;
if (!group) {
  console.error(`Usage: npm run mutations -- ${Object.keys(groups).join('|')} [FILE...]`);
  process.exit(2);
}

const { signal } = new AbortController();
const stage = { env: process.env, say: (line: string) => console.log(line), signal };
const packages = await installNpmPackages('Stryker', import.meta.dirname, stage);
const folder = await mkdtemp(path.join(tmpdir(), 'punctual-mutations-'));
const config = path.join(folder, 'stryker.json');
await writeFile(
  config,
  JSON.stringify({
    mutate: files.length > 0 ? files : [group.mutate],
    testRunner: 'command',
    commandRunner: {
      command: `npm test --silent -- ${group.tests.flatMap((each) => globSync(each)).join(' ')}`,
    },
    // Tests use both processors.
    concurrency: 1,
    reporters: ['clear-text', 'progress-append-only'],
    clearTextReporter: { logTests: false },
    tempDirName: '.data/mutations',
    timeoutMS: 600_000,
  }),
);
const stryker = path.join(packages, '@stryker-mutator', 'core', 'bin', 'stryker.js');
const child = spawn(process.execPath, [stryker, 'run', config], { stdio: 'inherit' });
const [code] = (await once(child, 'exit')) as [number | null];
await rm(folder, { recursive: true, force: true });
process.exit(code ?? 1);
