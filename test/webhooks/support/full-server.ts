import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';

const program = `
  const server = require('node:net').createServer();
  server.listen({ host: '127.0.0.1', port: 0, backlog: 1 }, () => console.log(server.address().port));`;

/** More than a line of one can hold. */
const enough = 8;

/**
 * A server that takes no connection any more: it has been stopped, and the line of those who wait to be let in is full.
 *
 * @returns its port on 127.0.0.1.
 */
export async function fullServer(t: ExecutionContext): Promise<number> {
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  const [line] = await once(child.stdout, 'data');
  const port = Number(String(line));
  child.kill('SIGSTOP');
  const sockets: Socket[] = [];
  t.teardown(() => sockets.forEach((socket) => socket.destroy()));
  for (let count = 0; count < enough; count += 1) {
    sockets.push(connect(port, '127.0.0.1').on('error', () => undefined));
  }

  await sleep(300);
  return port;
}
