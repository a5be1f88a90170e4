import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { freshDatabase } from '../support/database.ts';
import { needs } from '../support/needs.ts';
import { freshNamespace } from '../support/temporal.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const test = needs('postgres', 'temporal');
const root = fileURLToPath(new URL('../..', import.meta.url));

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** @returns the process ids of npm's child and of its descendants. */
async function descendants(pid: number): Promise<number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const own = children.trim().split(' ').filter(Boolean).map(Number);
  return [...own, ...(await Promise.all(own.map(descendants))).flat()];
}

async function stops(t: ExecutionContext, script: string, ready: string): Promise<void> {
  const { url } = await freshDatabase(t);
  const child = spawn('npm', ['run', script], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      ...(await freshNamespace()),
      DATABASE_URL: url,
      SECRET_KEY: 'ab'.repeat(32),
      PORT: '0',
      LOG_LEVEL: 'info',
      PUNCTUAL_MEDIA_DIR: await temporaryFolder(t),
    },
  });
  let log = '';
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      log += String(chunk);
      if (log.includes(`"msg":"${ready}"`)) {
        resolve();
      }
    });
    child.once('exit', () => reject(new Error(log)));
  });
  const below = await descendants(child.pid ?? 0);
  t.teardown(() => below.filter(isAlive).forEach((pid) => process.kill(pid, 'SIGKILL')));
  t.true(below.length > 0);
  child.kill('SIGTERM');
  await once(child, 'close');

  t.true(log.includes('"msg":"stopped"'), log);
  t.deepEqual(below.filter(isAlive), []);
}

for (const [script, ready] of [
  ['api', 'the database is ready'],
  ['worker', 'polling'],
] as const) {
  test(`npm run ${script} passes SIGTERM on, and waits until the process has stopped`, (t) => {
    t.timeout(120_000);
    return stops(t, script, ready);
  });
}
