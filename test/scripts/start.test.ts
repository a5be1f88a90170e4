import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { openDataFolder } from '../../scripts/start/data-folder.ts';
import { choosePorts, freePort } from '../../scripts/ports.ts';
import { runCommand } from '../../scripts/run-command.ts';
import { readStartSettings } from '../../scripts/start/start-plan.ts';
import { runPunctual } from '../cli/run-punctual.ts';
import { beforeTests } from '../support/before-tests.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { listening } from '../support/listening.ts';

test('the API is on port 3000 of the loopback unless set, and all invalid ports are reported at once', (t) => {
  const settings = readStartSettings({});
  t.like(settings, { host: '127.0.0.1', apiPort: 3000, temporalNamespace: 'default' });
  const env = { PORT: '0', PUNCTUAL_SANDBOX_PORT: '70000', PUNCTUAL_TEMPORAL_PORT: '0' };
  t.deepEqual(readStartSettings(env).problems, [
    'PORT must be a port from 1 to 65535, not "0".',
    'PUNCTUAL_TEMPORAL_PORT must be a port from 1 to 65535, not "0".',
    'PUNCTUAL_SANDBOX_PORT must be a port from 1 to 65535, not "70000".',
  ]);
});

async function takenPort(t: ExecutionContext): Promise<number> {
  const server = createServer();
  return listening(t, server);
}

test("a port from a setting that is in use is reported, with the setting's name", async (t) => {
  const fixed = await takenPort(t);
  const error = await t.throwsAsync(
    choosePorts({ api: { what: 'the API', variable: 'PORT', fixed } }),
  );
  t.is(
    error.message,
    `Port ${fixed} is in use, and the API needs it. Stop the program that uses it, or set PORT to another port.`,
  );
});

// Another process may take a free port first: then this test chooses again.

test('a part keeps the port of its last start while that is free', async (t) => {
  const choose = async () => {
    const preferred = await freePort();
    const ports = await choosePorts({ ui: { what: 'the UI', variable: 'UI_PORT', preferred } });
    return { preferred, ui: ports.ui };
  };
  const { preferred, ui } = await poll(choose, (chosen) => chosen.ui === chosen.preferred);
  t.is(ui, preferred);
});

test('a part gets another port if that of its last start is in use', async (t) => {
  const preferred = await takenPort(t);
  const ports = await choosePorts({ ui: { what: 'the UI', variable: 'UI_PORT', preferred } });
  t.not(ports.ui, preferred);
  t.true(ports.ui > 0);
});

const startTest = needs('postgres', 'temporal');
const script = fileURLToPath(new URL('../../scripts/start.ts', import.meta.url));

type Started = { readonly process: ChildProcess; readonly output: () => string };

const place = beforeTests(startTest, async (scope) => {
  const data = path.join(await temporaryFolder(scope), 'data');
  return { scope, data, home: path.join(data, '../home'), port: await freePort() };
});
let latest: Started | undefined;
/** Two starts of five programs each take a minute on a busy machine with two cores. */
const slowestMs = 600_000;

/** The running `npm start`, or a new one in the same folder. Tests share it, because it starts five programs. */
async function running(): Promise<Started> {
  latest = latest && hasNotEnded(latest.process) ? latest : await start(place());
  return latest;
}

/** Runs `npm start`, and waits until it prints that all is ready. */
async function start({ scope, data, home, port }: ReturnType<typeof place>): Promise<Started> {
  const child = spawn(process.execPath, [script], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PUNCTUAL_DATA: data, XDG_CONFIG_HOME: home, PORT: String(port) },
  });
  scope.teardown(() => ended(child, 'SIGTERM'));
  let output = '';
  const keep = (text: Buffer) => {
    output += String(text);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const isOver = () => !hasNotEnded(child) || output.includes('Ctrl-C stops everything');
  await poll(async () => isOver(), Boolean, slowestMs);
  return { process: child, output: () => output };
}

const hasNotEnded = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode === null && signalCode === null;

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (hasNotEnded(child)) {
    // Waits for `close`, not `exit`: the last output may arrive after the exit.
    const closed = once(child, 'close');
    child.kill(signal);
    await closed;
  }
  return child.exitCode;
}

const addressOf = (name: string, output: string): string =>
  new RegExp(String.raw`${name} +(http://\S+)`, 'v').exec(output)?.[1] ?? '';

startTest.serial(
  'the curl command that npm start prints publishes a post on the demo networks, also after a restart; the command has the key',
  async (t) => {
    t.timeout(slowestMs);
    const first = await running();
    const printed = first.output();
    t.regex(printed, /API key +\S+ \(of the demo workspace\)/v);
    const curl = /curl -X POST[\s\S]+?\}'/v.exec(printed)?.[0] ?? 'false';
    const text = 'from the first start';
    // Due after the stop below, so that only the second start can publish it.
    const soon = curl.replace('Hello from Punctual', text).replace('": 0.1', '": 0.25');
    const { stdout, stderr } = await runCommand('sh', ['-c', soon]);
    t.regex(stdout, /"status":\s*"scheduled"/v, stderr);
    for (const name of ['Docs', 'Temporal UI', 'Sandbox']) {
      t.is((await fetch(addressOf(name, printed))).status, 200, name);
    }
    t.is(await ended(first.process, 'SIGINT'), 0);
    t.regex(first.output(), /Stopped\.\n$/v);

    const second = await running();
    t.is(/API key +(\S+)/v.exec(second.output())?.[1], /API key +(\S+)/v.exec(printed)?.[1]);
    const me = await runPunctual(['whoami', '--jq', '.workspace.name'], {
      XDG_CONFIG_HOME: place().home,
    });
    t.is(me.stdout, 'Demo\n', me.stderr);
    const page = addressOf('Sandbox', second.output());
    t.is(page, addressOf('Sandbox', printed));
    const seen = await poll(
      async () => (await (await fetch(page)).text()).split(text).length - 1,
      (count) => count >= 2,
    );
    t.true(seen >= 2);
  },
);

type NotedPart = { readonly name: string; readonly pid: number };

/** The processes of the running start, including those that it has replaced. */
async function notedParts(): Promise<NotedPart[]> {
  const file = await readFile(path.join(place().data, 'running.json'), 'utf8');
  return (JSON.parse(file) as { parts: NotedPart[][] }).parts.flat();
}

startTest.serial(
  'a worker that dies is restarted; when the database dies, everything ends and the message names it',
  async (t) => {
    t.timeout(slowestMs);
    const { process: child, output } = await running();
    const pidsOf = async (part: string): Promise<number[]> =>
      (await notedParts()).flatMap(({ name, pid }) => (name === part ? [pid] : []));
    const [worker = 0] = await pidsOf('worker');
    process.kill(worker, 'SIGKILL');
    await poll(
      () => pidsOf('worker'),
      ({ length }) => length === 2,
    );
    t.regex(output(), /worker ended \(signal SIGKILL\)[\s\S]+worker is started again\./v);
    t.true(hasNotEnded(child));

    const closed = once(child, 'close');
    const parts = await notedParts();
    process.kill((await pidsOf('PostgreSQL'))[0] ?? 0, 'SIGKILL');
    t.deepEqual(await closed, [1, null]);
    t.regex(output(), /PostgreSQL ended \(signal SIGKILL\)/v);
    for (const { name, pid } of parts) {
      t.throws(() => process.kill(pid, 0), { code: 'ESRCH' }, name);
    }
  },
);

test.serial(
  'only the owner can read the data folder, including files that an earlier version left open',
  async (t) => {
    const umask = process.umask();
    t.teardown(() => process.umask(umask));
    process.umask(0o022);
    const folder = path.join(await temporaryFolder(t), 'data');
    for (const name of ['media', 'postgres']) {
      await mkdir(path.join(folder, name), { recursive: true, mode: 0o755 });
    }

    await writeFile(path.join(folder, 'temporal.db'), '');
    const data = await openDataFolder(folder);
    await data.writePorts({ api: 3000 });
    await writeFile(path.join(folder, 'new'), '');

    const modeOf = async (name: string): Promise<string> =>
      ((await stat(path.join(folder, name))).mode & 0o777).toString(8);
    // If root runs the start, PostgreSQL's user must be able to reach its own folder inside.
    t.is(await modeOf('.'), process.getuid?.() === 0 ? '711' : '700');
    t.is(await modeOf('media'), '700');
    t.is(await modeOf('logs'), '700');
    for (const file of ['temporal.db', 'ports.json', 'new']) {
      t.is(await modeOf(file), '600', file);
    }
    t.is(await modeOf('postgres'), '755', 'PostgreSQL itself refuses a folder that is open');
  },
);
