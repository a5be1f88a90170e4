import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';

const module = fileURLToPath(new URL('../../scripts/ports.ts', import.meta.url));
/** Chooses 400 ports, prints them, and runs until its input ends. */
const program = `
  import { freePort } from ${JSON.stringify(module)};
  const ports = [];
  while (ports.length < 400) {
    ports.push(await freePort());
  }
  console.log(JSON.stringify(ports));
  process.stdin.resume().on('end', () => process.exit());
`;

async function chosenByAnotherProgram(t: ExecutionContext): Promise<number[]> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.teardown(async () => {
    child.stdin.end();
    await once(child, 'exit');
  });
  const [line] = await once(createInterface(child.stdout), 'line');
  return JSON.parse(line) as number[];
}

// By chance alone, two sets of four hundred of the 12,768 ports would share 12.
const together = process.platform === 'linux' ? test : test.skip;

together('programs that choose ports at the same moment never get the same one', async (t) => {
  const chosen = await Promise.all([chosenByAnotherProgram(t), chosenByAnotherProgram(t)]);
  t.is(new Set(chosen.flat()).size, 800);
});

test('a program never gets the same port twice', async (t) => {
  const ports = await chosenByAnotherProgram(t);
  t.is(new Set(ports).size, 400);
});
