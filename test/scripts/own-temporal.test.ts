import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { startGuard } from '../../scripts/parts/guard.ts';
import { startTemporal } from '../../scripts/parts/temporal.ts';
import { freePort } from '../../scripts/ports.ts';
import { findTemporal } from '../../scripts/temporal/find-temporal.ts';
import { connectTemporal } from '../../temporal/connect.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** A dev server as `npm start` runs one. */
async function ownServer(t: ExecutionContext) {
  const { signal } = new AbortController();
  const program = await findTemporal({ env: process.env, say: () => undefined, signal });
  const guard = startGuard();
  t.teardown(() => guard.endAll());
  const ports = { grpc: await freePort(), http: await freePort(), ui: await freePort() };
  const logFile = path.join(await temporaryFolder(t), 'temporal.log');
  const plan = { program, namespace: 'default', ports, logFile, env: process.env, rank: 0 };
  await startTemporal(plan, { guard, say: () => undefined, signal });
  const settings = { TEMPORAL_ADDRESS: `127.0.0.1:${ports.grpc}`, TEMPORAL_NAMESPACE: 'default' };
  const temporal = connectTemporal(settings);
  t.teardown(() => temporal.close());
  return { ports, temporal };
}

test('a page of another site cannot start, signal or end a workflow of the dev server', async (t) => {
  const { ports, temporal } = await ownServer(t);
  const { client } = temporal;
  const workflowId = 'post-1';
  const handle = await client.workflow.start('publishPost', { workflowId, taskQueue: 'none' });
  // What a browser sends for any page without asking the server first.
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
