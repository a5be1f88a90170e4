import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { access, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { assertSealedBy } from '../../db/installation.ts';
import { createSealer } from '../../runtime/secrets.ts';
import { freePort } from '../../scripts/ports.ts';
import { freshDatabase } from '../support/database.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { freshNamespace } from '../support/temporal.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const test = needs('temporal');
const script = fileURLToPath(new URL('../../scripts/start.ts', import.meta.url));

/** A data folder, and the settings of a person who has their own Temporal and, if it is given, a database. */
async function place(t: ExecutionContext, databaseUrl = '') {
  const data = path.join(await temporaryFolder(t), 'data');
  const port = String(await freePort());
  const home = path.join(data, '../home');
  const own = { PUNCTUAL_DATA: data, XDG_CONFIG_HOME: home, PORT: port, DATABASE_URL: databaseUrl };
  return { file: path.join(data, 'secret-key'), env: { ...own, ...(await freshNamespace()) } };
}

/** Runs `npm start`. The test's end stops it. */
function start(
  t: ExecutionContext,
  env: Readonly<Record<string, string>>,
  words: readonly string[] = [],
) {
  const child = spawn(process.execPath, [script, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const closed = once(child, 'close');
  t.teardown(async () => {
    child.kill();
    await closed;
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += String(chunk);
    });
  }

  return { child, closed, output: () => output };
}

/** A database with its own key. */
async function sealed(t: ExecutionContext) {
  const { url, orm } = await freshDatabase(t);
  const secretKey = randomBytes(32).toString('hex');
  await assertSealedBy(orm, createSealer(secretKey).keyId);
  return { url, secretKey };
}

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

test('a wrong setting is reported at once and in plain lines, before anything starts', async (t) => {
  const { env } = await place(t);
  const wrong = {
    LOG_LEVEL: 'verbose',
    DATABASE_URL: 'mysql://localhost/punctual',
    PUNCTUAL_EGRESS_ALLOW_WEBHOOKS: '127.0.0.1',
  };
  const { child, closed, output } = start(t, { ...env, ...wrong });
  await closed;

  t.is(child.exitCode, 1);
  t.regex(
    output(),
    /^\nCorrect these settings \(docs\/operate\/settings\.md\):\n- DATABASE_URL must be/v,
  );
  t.regex(output(), /\n- LOG_LEVEL must be one of .*, not "verbose"\.\n/v);
  t.regex(output(), /\n- PUNCTUAL_EGRESS_ALLOW_WEBHOOKS/v);
  t.notRegex(output(), /starting|demo workspace|\\n|\{/v);
});

test('a misspelt TEMPORAL_ADDRESS is reported, and no other Temporal is started', async (t) => {
  const { env } = await place(t);
  const others = Object.entries(env).filter(([name]) => name !== 'TEMPORAL_ADDRESS');
  const wrong = { ...Object.fromEntries(others), TEMPORAL_ADRESS: '127.0.0.1:7233' };
  const { child, closed, output } = start(t, wrong);
  await closed;

  t.is(child.exitCode, 1);
  t.regex(output(), /\n- Unknown setting TEMPORAL_ADRESS\. Did you mean TEMPORAL_ADDRESS\?\n$/v);
});

test('a database that does not answer is reported in one plain line', async (t) => {
  const { env } = await place(t, 'postgresql://punctual@127.0.0.1:1/punctual');
  const { child, closed, output } = start(t, env);
  await closed;

  t.is(child.exitCode, 1);
  t.regex(
    output(),
    /\nThe database cannot be used: .*127\.0\.0\.1:1\. Check that it runs and takes writes, and DATABASE_URL\.\n/v,
  );
  t.notRegex(output(), /demo workspace|\\n|\{/v);
});

test('a Temporal that does not answer is reported during the wait', async (t) => {
  const { url } = await freshDatabase(t);
  const { env } = await place(t, url);
  const address = `127.0.0.1:${await freePort()}`;
  const { child, output } = start(t, { ...env, TEMPORAL_ADDRESS: address });
  const named = `\nTemporal at ${address} (TEMPORAL_ADDRESS) does not answer. `;
  await poll(async () => output().includes(named) || child.exitCode !== null, Boolean, 600_000);

  t.true(output().includes(named), output());
  t.is(child.exitCode, null);
  t.notRegex(output(), /Punctual is ready/v);
});

test('a start with another key says how to restore the right one, and leaves no key file that looks like it', async (t) => {
  const { url } = await sealed(t);
  const { env, file } = await place(t, url);
  const lost = start(t, env);
  await lost.closed;
  t.is(lost.child.exitCode, 1);
  t.regex(lost.output(), /\nSECRET_KEY \([0-9a-f]{8}\) is not the key .*\.\nMost likely:\n- /v);
  t.true(lost.output().includes(`The file ${file} was lost: restore the previous one.\n`));
  t.regex(lost.output(), /\n {4}npm start -- --adopt-secret-key\n/v);
  t.notRegex(lost.output(), /demo workspace|\\n|\{|worker: |api: /v);
  t.false(await exists(file));

  const SECRET_KEY = randomBytes(32).toString('hex');
  const given = start(t, { ...env, SECRET_KEY });
  await given.closed;
  t.regex(given.output(), /\nMost likely:\n- SECRET_KEY is set in the environment\. Set it to/v);
  t.false(await exists(file));
});

test('when the key is lost, npm start accepts a new one and the media storage', async (t) => {
  const { url } = await sealed(t);
  const { env, file } = await place(t, url);
  const { child, closed, output } = start(t, env, ['--adopt-secret-key', '--adopt-storage']);
  await poll(
    async () => child.exitCode !== null || output().includes('Ctrl-C stops everything'),
    Boolean,
    600_000,
  );

  t.regex(output(), /\nSECRET_KEY \([0-9a-f]{8}\) is the one of this database now\./v);
  t.regex(output(), /\nThis database now uses the media storage of this start\.\n/v);
  t.regex(output(), /Punctual is ready/v);
  t.regex(await readFile(file, 'utf8'), /^[0-9a-f]{64}\n$/v);
  child.kill();
  await closed;
});

test('an argument that npm start does not know is refused, with those that it takes', async (t) => {
  const { env } = await place(t);
  const { child, closed, output } = start(t, env, ['--adopt']);
  await closed;

  t.is(child.exitCode, 1);
  t.regex(
    output(),
    /"--adopt"\. npm start accepts only --adopt-secret-key and --adopt-storage\.\n$/v,
  );
});
