import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { ExecutionContext } from 'ava';
import type { Ending } from '../../scripts/parts/end-processes.ts';
import { processIdentity } from '../../scripts/parts/process-identity.ts';

/** A process that does nothing until it is ended. `deaf` to SIGTERM, it has to be killed. */
export async function sleeper(
  t: ExecutionContext,
  { deaf = false, graceMs = 5000 } = {},
): Promise<{ child: ChildProcess; ending: Ending }> {
  const script = `${deaf ? "process.on('SIGTERM', () => {});" : ''} setInterval(() => {}, 1000); console.log('up');`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const pid = child.pid ?? 0;
  const identity = (await processIdentity(pid)) ?? '';
  return { child, ending: { name: `sleeper ${pid}`, pid, identity, signal: 'SIGTERM', graceMs } };
}
