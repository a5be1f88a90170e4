import { proxyLocalActivities, sleep } from '@temporalio/workflow';

export type Stamp = { stamp(name: string): Promise<void> };

const { stamp } = proxyLocalActivities<Stamp>({ startToCloseTimeout: '10 seconds' });

/** The baseline: a timer, and a timestamp by the first activity after it. */
export async function bareTimer(name: string, dueAtMs: number): Promise<void> {
  await sleep(Math.max(dueAtMs - Date.now(), 1));
  await stamp(name);
}
