import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { shareCompiledCode } from '../../scripts/compile-cache.ts';
import { startGuard } from '../../scripts/parts/guard.ts';
import { groupFiles } from './group-files.ts';
import { neededParts } from './needed-parts.ts';
import { selectFiles } from './quick-files.ts';
import { runAva } from './run-ava.ts';
import { storeBundle } from './services/bundle.ts';
import { startServices } from './services/all.ts';
import { tallyLine } from './tally.ts';

// `npm test [-- ava's arguments]`: starts the services that the quick tests need, runs ava, stops everything and prints
// the count. The first argument may be `--all` or `--rest` (`quick-files.ts`), or the arguments may name test files.

const interrupted = new AbortController();
const force = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  // ava gets the signal too and ends; the services stop after it. A second signal ends everything at once.
  process.on(signal, () => (interrupted.signal.aborted ? force : interrupted).abort());
}

// Many processes load the same modules.
shareCompiledCode();
const guard = startGuard();
const folder = await mkdtemp(path.join(tmpdir(), 'punctual-test-'));
// As root, the tests run PostgreSQL as another user, who must be able to enter this folder.
await chmod(folder, 0o711);
const say = (line: string) => console.log(line);
const stage = { guard, say, signal: interrupted.signal };
const [, , first = '', ...others] = process.argv;
const selection = ({ '--all': 'all', '--rest': 'rest' } as const)[first];
const args = selection ? others : process.argv.slice(2);
const isNamed = args.some((arg) => existsSync(arg));
const tests = isNamed ? args : selectFiles(selection ?? 'quick');
const needed = neededParts(tests);
const { running, missing } = await startServices(folder, stage, needed?.parts);
for (const [part, reason] of interrupted.signal.aborted ? [] : Object.entries(missing)) {
  say(`\nTests that need ${part} are skipped. ${reason}`);
}

const env = Object.assign({}, ...running.map((service) => service.env)) as Record<string, string>;
if (needed?.bundle ?? true) {
  Object.assign(env, await storeBundle(folder));
}
env['PUNCTUAL_TEST_MISSING'] = JSON.stringify(missing);
const groups = path.join(import.meta.dirname, '..', '..', '.data', `test-groups-${process.pid}`);
const files = isNamed ? args : [...args, ...groupFiles(groups, tests)];
const { exitCode, tally } = await runAva(files, env, interrupted.signal);
await rm(groups, { recursive: true, force: true });
await Promise.all(running.map((service) => service.stop().catch(() => undefined)));
await guard.endAll(force.signal);
await rm(folder, { recursive: true, force: true });
say(`\n${tallyLine(tally)}`);
process.exit(exitCode === 0 && tally.failed === 0 ? 0 : 1);
