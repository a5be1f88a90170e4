import { createServer, request } from 'node:http';
import path from 'node:path';
import type { ExecutionContext } from 'ava';
import { runCommand } from '../../scripts/run-command.ts';
import { env } from '../support/env.ts';
import { sharedApi } from '../support/kit.ts';
import { noTemporal } from '../support/media-library.ts';
import { needs } from '../support/needs.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { listening } from '../support/listening.ts';

const test = needs('postgres', 'typescript-generator');
const api = sharedApi(test, { temporalEnv: noTemporal });

for (const version of ['2025-11-25', '2026-07-28']) {
  // What the files list are features that Punctual does not have, and tools of other names.
  test(`the conformance suite of ${version} finds nothing else than conformance-${version}.yml lists`, async (t) => {
    const { key } = await api.newClient();
    const url = `${await withKey(t, api.punctual.url, key)}/mcp`;
    const cli = '@modelcontextprotocol/conformance/dist/index.js';
    const baseline = path.join(import.meta.dirname, `conformance-${version}.yml`);
    const program = path.join(env('PUNCTUAL_TEST_TYPESCRIPT_GENERATOR'), cli);
    const { ok, stdout, stderr } = await runCommand(
      process.execPath,
      // prettier-ignore
      [program, 'server', '--url', url, '--spec-version', version, '--suite', 'all', '--expected-failures', baseline],
      { cwd: await temporaryFolder(t), timeoutMs: 240_000 },
    );
    t.true(ok, (stdout + stderr).slice(-5000));
  });
}

/** Adds the key, which the suite cannot send. @returns the address to call. */
async function withKey(t: ExecutionContext, url: string, key: string): Promise<string> {
  const proxy = createServer(async (incoming, outgoing) => {
    const { method, headers, url: target } = incoming;
    const authorized = { ...headers, authorization: `Bearer ${key}` };
    const passed = request(new URL(target ?? '/', url), { method, headers: authorized });
    passed.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
  });
  const port = await listening(t, proxy);
  return `http://127.0.0.1:${port}`;
}
