import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { createFairQueue } from '../../runtime/media/fair-queue.ts';
import { createInspector } from '../../runtime/media/inspector.ts';
import { poll } from '../support/poll.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const standIn = fileURLToPath(new URL('../support/stand-in-probe.ts', import.meta.url));

/** How to look at files that say what becomes of the program which looks at them. */
async function looking(t: ExecutionContext, bounds: Parameters<typeof createInspector>[0] = {}) {
  const folder = await temporaryFolder(t);
  const patient = { program: standIn, waitMs: 300_000, timeoutMs: 300_000 };
  const inspector = createInspector({ ...patient, ...bounds });
  t.teardown(() => inspector.close());
  const look = async (order: string, workspace = 'a', signal?: AbortSignal) => {
    const file = path.join(folder, `${order}-${crypto.randomUUID()}`);
    await writeFile(file, order);
    return inspector.inspect(file, workspace, signal);
  };
  return { folder, inspector, look, running: (words = '') => processesOf(words, folder) };
}

/** The ids of processes whose command line begins with these words and has a file of this folder in it. */
function processesOf(words: string, folder: string): number[] {
  const lines = execFileSync('ps', ['-axwwo', 'pid=,args='], { encoding: 'utf8' }).split('\n');
  return lines
    .map((line) => /^ *(?<id>\d+) (?<command>.*)$/v.exec(line)?.groups)
    .filter(({ command = '' } = {}) => command.startsWith(words) && command.includes(folder))
    .map((found) => Number(found?.['id']));
}

const refused = /^The file takes too much time or memory to be looked at/v;

for (const [order, what] of [
  ['burn', 'takes processor time without end'],
  ['fill', 'takes memory without end'],
  ['heap', "fills JavaScript's memory"],
  ['crash', 'breaks the program that reads it'],
] as const) {
  test(`a file that ${what} is refused, and no process is left`, async (t) => {
    const { look, running } = await looking(t, { cpuSeconds: order === 'burn' ? 1 : 60 });
    const outcome = await look(order);

    t.regex('refusal' in outcome ? outcome.refusal : '', refused);
    t.deepEqual(running(), []);
    t.like(await look('answer'), { type: 'image/png' });
  });
}

test('that the program was killed by somebody else is not the fault of the file', async (t) => {
  const { look } = await looking(t);

  await t.throwsAsync(look('die'), { name: 'AppError', code: 'unavailable' });
});

test('a program that never answers is ended after a while, and the file may be sent again', async (t) => {
  const { look, running } = await looking(t, { timeoutMs: 1000 });
  await t.throwsAsync(look('hang'), { name: 'AppError', code: 'unavailable' });

  await poll(
    async () => running(),
    ({ length }) => length === 0,
  );
});

test('a file whose turn does not come in time is told to come again later', async (t) => {
  const { look, running } = await looking(t, { waitMs: 200 });
  void look('hang').catch(() => undefined);
  await poll(
    async () => running('hangs '),
    ({ length }) => length === 1,
  );

  await t.throwsAsync(look('answer'), { code: 'unavailable', message: /^Too many files wait/v });
  t.like(await look('answer', 'b'), { type: 'image/png' }, 'One slot is left to others.');
});

test('a client that goes away gives up its slot, waiting or not', async (t) => {
  const { look, running } = await looking(t, { slots: 1 });
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

test('a service that ends takes with it what is under way, and what waits', async (t) => {
  const { look, running, inspector } = await looking(t);
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

test('the program ends with the process that started it, also when that one is killed', async (t) => {
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
    process.kill(id, 'SIGTERM'); // As a service that is stopped as a whole: it goes on.
  }
  parent.kill('SIGKILL');
  await once(parent, 'exit');

  await poll(
    async () => children(),
    ({ length }) => length === 0,
  );
  t.pass();
});

test('of a thousand that wait for one workspace and one for another, that one comes next', async (t) => {
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
  t.deepEqual(order, ['a', 'b', 'c'], 'Others have the slot that one workspace cannot take.');
  first();
  await Promise.all(many);

  t.is(order.length, 1003);
});

test('where all slots are taken, the workspace with the fewest comes next, and then by turns', async (t) => {
  const enter = createFairQueue({ all: 2, each: 2 });
  const never = new AbortController().signal;
  const [one, two] = [await enter('a', never), await enter('a', never)];
  const order: string[] = [];
  const visits = ['a', 'a', 'a', 'b', 'b', 'c'].map(async (key) => {
    const leave = await enter(key, never);
    order.push(key);
    leave();
    leave(); // Twice counts once.
  });
  one();
  two();
  await Promise.all(visits);

  t.is(order[0], 'b');
  t.true(order.indexOf('c') < 3, order.join(' '));
  t.deepEqual(order.toSorted(), ['a', 'a', 'a', 'b', 'b', 'c']);
});
