import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { dataFolder, openDataFolder } from './data-folder.ts';
import { ownDatabase } from './own-servers.ts';
import { databaseUrl } from './parts/postgres.ts';
import { isRunning } from './run-lock.ts';

// `npm run admin -- …`: the operator's commands, on the database that runs by `npm start` unless `DATABASE_URL` names
// another.

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const settings = process.env['DATABASE_URL'] ? {} : await startedHere();
const cli = spawn(process.execPath, [path.join(root, 'cli', 'main.ts'), ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, ...settings },
});
const [code] = (await once(cli, 'exit')) as [number | null];
if (code === 1 && !settings) {
  console.error(
    'Punctual does not run in this folder: type "npm start" in another terminal first.',
  );
}
process.exitCode = code ?? 1;

/** What `npm start` has settled and the commands need; undefined while it does not run. */
async function startedHere(): Promise<Record<string, string> | undefined> {
  const data = await openDataFolder(dataFolder(root, process.env));
  const { postgres, sandbox } = await data.readPorts();
  if (!postgres || !(await isRunning(data.path('running.json')))) {
    return undefined;
  }

  const { PUNCTUAL_EGRESS_ALLOW: allowed, SECRET_KEY: secretKey } = process.env;
  return {
    DATABASE_URL: databaseUrl(await ownDatabase(data, postgres)),
    SECRET_KEY: secretKey ?? (await data.secret('secret-key', 32)),
    // So that the sandbox's channels can be connected by hand too.
    PUNCTUAL_EGRESS_ALLOW: [allowed, `127.0.0.1/32:${sandbox}`].filter(Boolean).join(','),
  };
}
