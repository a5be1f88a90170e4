import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { createFairQueue } from '../../runtime/concurrency.ts';
import { createInspector } from '../../runtime/media/inspector.ts';
import { poll } from '../support/poll.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const standIn = fileURLToPath(new URL('../support/stand-in-probe.ts', import.meta.url));

/** Inspects files whose content tells the stand-in inspection program what to do. */
async function inspecting(t: ExecutionContext, bounds: Parameters<typeof createInspector>[0] = {}) {
  const folder = await temporaryFolder(t);
  const patient = { program: standIn, waitMs: 300_000, timeoutMs: 300_000 };
  const inspector = createInspector({ ...patient, ...bounds });
  t.teardown(() => inspector.close());
  const inspect = async (order: string, workspace = 'a', signal?: AbortSignal) => {
    const file = path.join(folder, `${order}-${crypto.randomUUID()}`);
    await writeFile(file, order);
    return inspector.inspect(file, workspace, signal);
  };
  return { folder, inspector, look: inspect, running: (words = '') => processesOf(words, folder) };
}

/** Ids of processes whose command line begins with these words and contains a file of this folder. */
function processesOf(words: string, folder: string): number[] {
  const lines = execFileSync('ps', ['-axwwo', 'pid=,args='], { encoding: 'utf8' }).split('\n');
  return lines
    .map((line) => /^ *(?<id>\d+) (?<command>.*)$/v.exec(line)?.groups)
    .filter(({ command = '' } = {}) => command.startsWith(words) && command.includes(folder))
    .map((found) => Number(found?.['id']));
}

const refused = /^The inspection of the file takes too much time or memory/v;

for (const [order, what] of [
  ['burn', 'takes processor time without end'],
  ['fill', 'takes memory without end'],
  ['heap', "fills JavaScript's memory"],
  ['crash', 'crashes the program that reads it'],
] as const) {
  test(`a file that ${what} is refused, and no process is left over`, async (t) => {
    const { look, running } = await inspecting(t, { cpuSeconds: order === 'burn' ? 1 : 60 });
    const outcome = await look(order);

    t.regex('refusal' in outcome ? outcome.refusal : '', refused);
    t.deepEqual(running(), []);
    t.like(await look('answer'), { type: 'image/png' });
  });
}

test('if another process kills the program, the file is not refused', async (t) => {
  const { look } = await inspecting(t);

  await t.throwsAsync(look('die'), { name: 'AppError', code: 'unavailable' });
});

test('a program that never answers is ended after a while, and the file may be sent again', async (t) => {
  const { look, running } = await inspecting(t, { timeoutMs: 1000 });
  await t.throwsAsync(look('hang'), { name: 'AppError', code: 'unavailable' });

  await poll(
    async () => running(),
    ({ length }) => length === 0,
  );
});

test('a file that waits too long for a slot gets an error that asks to repeat the upload later', async (t) => {
  const { look, running } = await inspecting(t, { waitMs: 200 });
  void look('hang').catch(() => undefined);
  await poll(
    async () => running('hangs '),
    ({ length }) => length === 1,
  );

  await t.throwsAsync(look('answer'), {
    code: 'unavailable',
    message: /^Too many files are waiting/v,
  });
  t.like(await look('answer', 'b'), { type: 'image/png' }, 'Another workspace still gets a slot.');
});

test('a client that disconnects gives up its slot or its wait', async (t) => {
  const { look, running } = await inspecting(t, { slots: 1 });
  const [first, second] = [new AbortController(), new AbortController()];
  const outcomes = [look('hang', 'a', first.signal), look('hang', 'b', second.signal)];
  await poll(
    async () => running('hangs '),
    ({ length }) => length === 1,
  );
  second.abort(new Error('gone'));
  await t.throwsAsync(outcomes[1] ?? Promise.resolve(), { message: 'gone' });
  first.abort(new Error('gone'));
  await t.throwsAsync(outcomes[0] ?? Promise.resolve(), { message: 'gone' });

  t.like(await look('answer', 'c'), { type: 'image/png' });
  await poll(
    async () => running(),
    ({ length }) => length === 0,
  );
});

test('closing the service ends running and waiting inspections', async (t) => {
  const { look, running, inspector } = await inspecting(t);
  const outcomes = [look('hang'), look('hang'), look('hang', 'b')];
  await poll(
    async () => running('hangs '),
    ({ length }) => length === 2,
  );
  inspector.close();

  for (const outcome of outcomes) {
    await t.throwsAsync(outcome, { code: 'unavailable' });
  }

  await poll(
    async () => running(),
    ({ length }) => length === 0,
  );
});

test('the program ends with its parent process, also when the parent is killed', async (t) => {
  const folder = await temporaryFolder(t);
  const file = path.join(folder, 'file');
  await writeFile(file, 'hang');
  const module = JSON.stringify(new URL('../../runtime/media/inspector.ts', import.meta.url).href);
  const code = `const { createInspector } = await import(${module});
    await createInspector({ program: ${JSON.stringify(standIn)} }).inspect(${JSON.stringify(file)}, 'a');`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'ignore' });
  t.teardown(() => parent.kill('SIGKILL'));
  const children = (words = '') => processesOf(words, folder).filter((id) => id !== parent.pid);
  await poll(
    async () => children('hangs '),
    ({ length }) => length === 1,
  );
  for (const id of children()) {
    process.kill(id, 'SIGTERM'); // As when a whole service is stopped: the program continues.
  }
  parent.kill('SIGKILL');
  await once(parent, 'exit');

  await poll(
    async () => children(),
    ({ length }) => length === 0,
  );
  t.pass();
});

test('a thousand waiting files of one workspace do not delay the files of others', async (t) => {
  const enter = createFairQueue({ all: 2, each: 1 });
  const order: string[] = [];
  const never = new AbortController().signal;
  const visit = async (key: string) => {
    const leave = await enter(key, never);
    order.push(key);
    return leave;
  };
  const first = await visit('a');
  const many = Array.from({ length: 1000 }, async () => (await visit('a'))());
  const others = await Promise.all(['b', 'c'].map(async (key) => (await visit(key))()));
  t.is(others.length, 2);
  t.deepEqual(
    order,
    ['a', 'b', 'c'],
    'Other workspaces get the slot that one workspace cannot take.',
  );
  first();
  await Promise.all(many);

  t.is(order.length, 1003);
});

test('if all slots are taken, other workspaces come before more files of the same one', async (t) => {
  const enter = createFairQueue({ all: 2, each: 2 });
  const never = new AbortController().signal;
  const [one, two] = [await enter('a', never), await enter('a', never)];
  const order: string[] = [];
  const visits = ['a', 'a', 'a', 'b', 'b', 'c'].map(async (key) => {
    const leave = await enter(key, never);
    order.push(key);
    leave();
    leave(); // A second call has no effect.
  });
  one();
  two();
  await Promise.all(visits);

  t.is(order[0], 'b');
  t.true(order.indexOf('c') < 3, order.join(' '));
  t.deepEqual(order.toSorted(), ['a', 'a', 'a', 'b', 'b', 'c']);
});
