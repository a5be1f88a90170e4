import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { shareCompiledCode } from './compile-cache.ts';
import { startGuard, type ProcessGuard } from './parts/guard.ts';
import { partFailed, type ProcessPart } from './parts/part.ts';
import { dataFolder, openDataFolder } from './start/data-folder.ts';
import { takeRunLock, type RunLock } from './start/run-lock.ts';
import { startAll } from './start/start-all.ts';
import { checkSettings, chooseStartPorts, readStartSettings } from './start/start-plan.ts';
import { PlainError } from './terminal.ts';

// `npm start`: runs PostgreSQL, Temporal, the sandbox, the worker and the API until Ctrl-C or until one of them fails
// permanently.

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const say = (line: string) => console.log(line);
shareCompiledCode();

/** Aborts when everything is stopping, because of a signal or a failed part. */
const stopping = new AbortController();
/** Aborts at the second signal: stop without a grace period. */
const force = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => (stopping.signal.aborted ? force : stopping).abort());
}

let lock: RunLock | undefined;
let guard: ProcessGuard | undefined;
try {
  await run();
} catch (error) {
  process.exitCode = 1;
  console.error(error instanceof PlainError ? `\n${error.message}` : error);
}
await stop();
process.exit();

/** Resolves when the user stops it, and throws when a part fails. */
async function run(): Promise<void> {
  const settings = readStartSettings(process.env, process.argv.slice(2));
  await checkSettings(root, settings, process.env, stopping.signal);
  const data = await openDataFolder(dataFolder(root, process.env));
  const api = `http://${settings.host}:${settings.apiPort}`;
  lock = await takeRunLock(data.path('running.json'), api, say);
  const ports = await chooseStartPorts(settings, data);
  guard = startGuard(lock.note);
  say('Punctual is starting ...');

  let failure: PlainError | undefined;
  const onEnd = (part: ProcessPart, how: string) => {
    if (!stopping.signal.aborted) {
      failure = partFailed(part, how);
      stopping.abort();
    }
  };
  const stage = { guard, say, signal: stopping.signal, onEnd };
  try {
    say(await startAll({ root, settings, ports, data, env: process.env }, stage));
    if (!stopping.signal.aborted) {
      await once(stopping.signal, 'abort');
    }
  } catch (error) {
    // During a stop, pending waits fail too.
    if (!stopping.signal.aborted) {
      throw error;
    }
  }
  if (failure) {
    throw failure;
  }
}

async function stop(): Promise<void> {
  stopping.abort();
  if (guard) {
    say(
      '\nStopping after requests under way have finished (press Ctrl-C again to stop immediately) ...',
    );
    const forced = await guard.endAll(force.signal);
    say(forced.length > 0 ? `Stopped. Killed: ${forced.join(', ')}.` : 'Stopped.');
  }
  await lock?.release();
}
