import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { runCommand } from '../../scripts/run-command.ts';
import { freePort } from '../support/free-port.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const test = needs('postgres', 'temporal');
const script = fileURLToPath(new URL('../../scripts/start.ts', import.meta.url));

type Started = { readonly process: ChildProcess; readonly output: () => string };

/** Types `npm start` in a folder of data of the test's own, and waits until it says that all is ready. */
async function start(t: ExecutionContext, data: string, port: number): Promise<Started> {
  const child = spawn(process.execPath, [script], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PUNCTUAL_DATA: data, PORT: String(port) },
  });
  t.teardown(() => ended(child, 'SIGTERM'));
  let output = '';
  const keep = (text: Buffer) => {
    output += String(text);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const isOver = () => child.exitCode !== null || output.includes('Ctrl-C stops everything');
  await poll(async () => isOver(), Boolean, 120_000);
  return { process: child, output: () => output };
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    const exit = once(child, 'exit');
    child.kill(signal);
    await exit;
  }
  return child.exitCode;
}

const addressOf = (name: string, output: string): string =>
  new RegExp(String.raw`${name} +(http://\S+)`, 'v').exec(output)?.[1] ?? '';

test('the curl that npm start prints puts a post on the demo networks, also after a restart', async (t) => {
  const data = path.join(await temporaryFolder(t), 'data');
  const port = await freePort();
  const first = await start(t, data, port);
  const printed = first.output();
  t.regex(printed, /API key +\S+ \(of the demo workspace; shown this once\)/v);
  const curl = /curl -X POST[\s\S]+?\}'/v.exec(printed)?.[0] ?? 'false';
  const text = 'from the first start';
  // Later than the stop below, so that only the second start can publish it.
  const soon = curl.replace('Hello from Punctual', text).replace('": 0.1', '": 0.25');
  const { stdout, stderr } = await runCommand('sh', ['-c', soon]);
  t.regex(stdout, /"status":\s*"scheduled"/v, stderr);
  for (const name of ['Docs', 'Temporal UI', 'Sandbox']) {
    t.is((await fetch(addressOf(name, printed))).status, 200, name);
  }
  t.is(await ended(first.process, 'SIGINT'), 0);
  t.regex(first.output(), /Stopped\.\n$/v);

  const second = await start(t, data, port);
  t.regex(second.output(), /API key +was shown at the first start/v);
  const page = addressOf('Sandbox', second.output());
  t.is(page, addressOf('Sandbox', printed));
  const seen = await poll(
    async () => (await (await fetch(page)).text()).split(text).length - 1,
    (count) => count >= 2,
  );
  t.true(seen >= 2);
});

test('when one part dies, all end and it is named', async (t) => {
  const data = path.join(await temporaryFolder(t), 'data');
  const { process: child, output } = await start(t, data, await freePort());
  const running = JSON.parse(await readFile(path.join(data, 'running.json'), 'utf8')) as {
    parts: { name: string; pid: number }[][];
  };
  const parts = running.parts.flat();
  const exit = once(child, 'exit');
  process.kill(parts.find(({ name }) => name === 'worker')?.pid ?? 0, 'SIGKILL');
  t.deepEqual(await exit, [1, null]);
  t.regex(output(), /worker ended \(signal SIGKILL\)/v);
  for (const { name, pid } of parts) {
    t.throws(() => process.kill(pid, 0), { code: 'ESRCH' }, name);
  }
});
