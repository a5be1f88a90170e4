import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';

const logger = new URL('../../runtime/logger.ts', import.meta.url).href;

/** A process that logs. */
function program(t: ExecutionContext, code: string): ChildProcess {
  const lines = `import { createLogger } from ${JSON.stringify(logger)};
    const log = createLogger('test', 'info');
    ${code}`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', lines], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  return child;
}

async function output(t: ExecutionContext, code: string): Promise<string> {
  const { stdout } = program(t, code);
  return stdout ? text(stdout) : '';
}

test('a line is JSON with its name, and the last one before an exit is not lost', async (t) => {
  const written = await output(
    t,
    `log.info({ post: 1 }, 'first'); log.warn('last'); process.exit(0);`,
  );
  const lines = written
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  t.is(lines.length, 2);
  t.like(lines[0], { name: 'test', level: 30, post: 1, msg: 'first' });
  t.like(lines[1], { level: 40, msg: 'last' });
});

test('what is below the level is not written, and a credential that slips in is hidden', async (t) => {
  const written = await output(
    t,
    `log.debug('quiet');
     log.info({ a: { authorization: 'hidden-1', accessToken: 'hidden-2', password: 'hidden-3' } }, 'x');
     log.info({ a: { appPassword: 'hidden-4', secret: 'hidden-5' } }, 'x');`,
  );
  t.is(written.trim().split('\n').length, 2);
  t.notRegex(written, /hidden|quiet/v);
});

test('a process whose log nobody reads any more still ends when it is told to', async (t) => {
  const child = program(
    t,
    `process.once('SIGTERM', () => { log.info('stopping'); log.info('stopped'); process.exit(0); });
     setInterval(() => undefined, 1000);
     log.info('ready');`,
  );
  const ended = once(child, 'exit', { signal: AbortSignal.timeout(20_000) });
  await once(child.stdout ?? child, 'data');
  child.stdout?.destroy();
  await new Promise((resolve) => child.stdout?.once('close', resolve));

  child.kill('SIGTERM');

  t.deepEqual(await ended, [0, null]);
});
