import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startGuard, type Guard } from './parts/guard.ts';
import { partFailed, type Part } from './parts/part.ts';
import { dataFolder, openDataFolder } from './start/data-folder.ts';
import { takeRunLock, type RunLock } from './start/run-lock.ts';
import { startAll } from './start/start-all.ts';
import { checkSettings, chooseStartPorts, readStartSettings } from './start/start-plan.ts';
import { PlainError } from './terminal.ts';

// `npm start`: PostgreSQL, Temporal, the sandbox, the worker and the API, until Ctrl-C or until one of them ends for good.

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const say = (line: string) => console.log(line);

/** Aborts when everything is to end, by a person's wish or because a part has failed. */
const over = new AbortController();
/** Aborts when it is to end at once. */
const force = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => (over.signal.aborted ? force : over).abort());
}

let lock: RunLock | undefined;
let guard: Guard | undefined;
try {
  await run();
} catch (error) {
  process.exitCode = 1;
  console.error(error instanceof PlainError ? `\n${error.message}` : error);
}
await stop();
process.exit();

/** Resolves when a person stops it, and throws when a part fails. */
async function run(): Promise<void> {
  const settings = readStartSettings(process.env, process.argv.slice(2));
  await checkSettings(root, settings, process.env, over.signal);
  const data = await openDataFolder(dataFolder(root, process.env));
  const api = `http://${settings.host}:${settings.apiPort}`;
  lock = await takeRunLock(data.path('running.json'), api, say);
  const ports = await chooseStartPorts(settings, data);
  guard = startGuard(lock.note);
  say('Punctual is starting ...');

  let failure: PlainError | undefined;
  const onEnd = (part: Part, how: string) => {
    if (!over.signal.aborted) {
      failure = partFailed(part, how);
      over.abort();
    }
  };
  const stage = { guard, say, signal: over.signal, onEnd };
  try {
    say(await startAll({ root, settings, ports, data, env: process.env }, stage));
    if (!over.signal.aborted) {
      await once(over.signal, 'abort');
    }
  } catch (error) {
    // Once all is to end, whatever was being waited for fails too.
    if (!over.signal.aborted) {
      throw error;
    }
  }
  if (failure) {
    throw failure;
  }
}

async function stop(): Promise<void> {
  over.abort();
  if (guard) {
    say('\nStopping: what is being sent is finished first (Ctrl-C again: at once) ...');
    const forced = await guard.endAll(force.signal);
    say(forced.length > 0 ? `Stopped. Ended by force: ${forced.join(', ')}.` : 'Stopped.');
  }
  await lock?.release();
}
