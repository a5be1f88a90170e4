import { inspect } from 'node:util';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Punctual } from '../sdk/src/index.ts';
import { createMcpServer } from './server.ts';

/** Serves the tools on standard input and output, until the program on the other side closes the input. */
export async function serveMcpOverStdio(client: Punctual): Promise<void> {
  const ended = new Promise((resolve) => process.stdin.once('end', resolve));
  const report = (error: unknown) => process.stderr.write(`${inspect(error)}\n`);
  const serving = serveStdio(() => createMcpServer(client, report));
  await ended;
  await serving.close();
}
