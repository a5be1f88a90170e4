import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { startGuard } from '../../scripts/parts/guard.ts';
import { startTemporal } from '../../scripts/parts/temporal.ts';
import { freePort } from '../../scripts/ports.ts';
import { findTemporal } from '../../scripts/programs/find-temporal.ts';
import { connectTemporal } from '../../temporal/connect.ts';
import { poll } from '../support/poll.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Starts a dev server as `npm start` does. */
async function ownServer(t: ExecutionContext) {
  const { signal } = new AbortController();
  const program = await findTemporal({ env: process.env, say: () => undefined, signal });
  const guard = startGuard();
  t.teardown(() => guard.endAll());
  const ports = { grpc: await freePort(), http: await freePort(), ui: await freePort() };
  const logFile = path.join(await temporaryFolder(t), 'temporal.log');
  const env = { ...process.env, SECRET_KEY: 'not for Temporal' };
  const plan = { program, namespace: 'default', ports, logFile, env, rank: 0 };
  const part = await startTemporal(plan, { guard, say: () => undefined, signal });
  const settings = { TEMPORAL_ADDRESS: `127.0.0.1:${ports.grpc}`, TEMPORAL_NAMESPACE: 'default' };
  const temporal = connectTemporal(settings);
  t.teardown(() => temporal.close());
  return { ports, temporal, pid: part.pid };
}

test('the dev server does not check for newer versions, and gets no secret of ours', async (t) => {
  const { pid } = await ownServer(t);
  if (process.platform === 'linux') {
    const known = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0');
    const ours = known.filter((each) => /^(?:SECRET_KEY|TEMPORAL_VERSION)/v.test(each));
    t.deepEqual(ours, ['TEMPORAL_VERSION_CHECK_DISABLED=1']);
  } else {
    t.pass('Only Linux shows the environment of a process.');
  }
});

test('a page of another site cannot start, signal or end a workflow of the dev server', async (t) => {
  const { ports, temporal } = await ownServer(t);
  const { client } = temporal;
  const workflowId = 'post-1';
  const handle = await client.workflow.start('publishPost', { workflowId, taskQueue: 'none' });
  // A request that a browser sends from any page without a preflight.
  const simple = {
    method: 'POST',
    headers: { 'content-type': 'text/plain', origin: 'https://elsewhere.example' },
    body: '{}',
  };
  const start = JSON.stringify({
    workflowType: { name: 'publishPost' },
    taskQueue: { name: 'none' },
  });
  for (const port of [ports.http, ports.ui]) {
    const workflows = `http://127.0.0.1:${port}/api/v1/namespaces/default/workflows`;
    const statuses = [
      await fetch(`${workflows}/${workflowId}/terminate`, simple),
      await fetch(`${workflows}/${workflowId}/cancel`, simple),
      await fetch(`${workflows}/made-up-${port}`, { ...simple, body: start }),
    ].map(({ status }) => status);
    t.true(
      statuses.every((status) => status >= 400 && status < 500),
      `${port === ports.ui ? 'UI' : 'HTTP'}: ${statuses}`,
    );
    await t.throwsAsync(client.workflow.getHandle(`made-up-${port}`).describe(), undefined);
  }

  t.is((await handle.describe()).status.name, 'RUNNING');
});

test("Temporal's Web UI answers only to its own host name", async (t) => {
  const { ports } = await ownServer(t);
  const ask = async (host: string): Promise<{ status: number | undefined; cookies: unknown }> => {
    const asked = get({ host: '127.0.0.1', port: ports.ui, path: workflows, headers: { host } });
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.resume();
    return { status: answer.statusCode, cookies: answer.headers['set-cookie'] };
  };
  const workflows = '/api/v1/namespaces/default/workflows';

  // The UI has its own connection to the server, and answers 503 until it is open.
  await poll(
    async () => (await ask(`127.0.0.1:${ports.ui}`)).status,
    (status) => status === 200,
  );
  t.is((await ask(`localhost:${ports.ui}`)).status, 200);
  for (const host of ['evil.example', `evil.example:${ports.ui}`, '127.0.0.1']) {
    t.deepEqual(await ask(host), { status: 421, cookies: undefined }, host);
  }

  const page = await fetch(`http://127.0.0.1:${ports.ui}/`);
  t.is(page.status, 200);
  t.regex(await page.text(), /<html/v);
});
