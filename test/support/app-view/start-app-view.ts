import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { freePort } from '../../../scripts/ports.ts';
import { emptyDatabase } from '../database.ts';
import { env } from '../env.ts';
import { within } from '../within.ts';

/** The settings of `main.ts`, from an environment variable. */
export type AppViewSettings = AppViewPlace & {
  /** The `node_modules` with the AppView. */
  readonly packages: string;
  readonly dataPlanePort: number;
  readonly databaseUrl: string;
  readonly adminPassword: string;
};

/** The AppView's address and the PDS that it follows. The PDS needs the address first. */
export type AppViewPlace = {
  readonly port: number;
  readonly did: string;
  readonly pdsUrl: string;
  readonly plcUrl: string;
};

export type AppView = {
  /** Hides a post as the AppView's moderators do: readers no longer see it, and its author's PDS keeps it. */
  takeDown(uri: string, cid: string): Promise<void>;
};

/** Starts Bluesky's own AppView, on a database for the test. The test's end stops it. */
export async function startAppView(t: ExecutionContext, place: AppViewPlace): Promise<AppView> {
  const settings: AppViewSettings = {
    ...place,
    packages: env('PUNCTUAL_TEST_APP_VIEW_PACKAGES'),
    dataPlanePort: await freePort(),
    databaseUrl: await emptyDatabase(t),
    adminPassword: randomBytes(16).toString('hex'),
  };
  const main = fileURLToPath(new URL('main.ts', import.meta.url));
  const child = spawn(process.execPath, [main], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      ...process.env,
      LOG_ENABLED: 'false',
      NODE_NO_WARNINGS: '1',
      PUNCTUAL_TEST_APP_VIEW: JSON.stringify(settings),
    },
  });
  const ended = once(child, 'exit');
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const end = ended.then(([code]) => {
    throw new Error(`The AppView ended with ${code}.`);
  });
  const ready = Promise.race([once(child, 'message'), end]);
  await within(ready, () => 'The AppView is not ready.');
  end.catch(() => undefined);
  return { takeDown: (uri, cid) => takeDown(settings, uri, cid) };
}

async function takeDown(
  { port, adminPassword }: AppViewSettings,
  uri: string,
  cid: string,
): Promise<void> {
  const method = 'com.atproto.admin.updateSubjectStatus';
  const credentials = Buffer.from(`admin:${adminPassword}`).toString('base64');
  const subject = { $type: 'com.atproto.repo.strongRef', uri, cid };
  const response = await fetch(`http://127.0.0.1:${port}/xrpc/${method}`, {
    method: 'POST',
    headers: { authorization: `Basic ${credentials}`, 'content-type': 'application/json' },
    body: JSON.stringify({ subject, takedown: { applied: true, ref: 'test' } }),
  });
  if (!response.ok) {
    throw new Error(`The AppView answered ${response.status}: ${await response.text()}`);
  }
}
