import { proxyLocalActivities, sleep } from '@temporalio/workflow';

export type Stamp = { stamp(name: string): Promise<void> };

const { stamp } = proxyLocalActivities<Stamp>({ startToCloseTimeout: '10 seconds' });

/** The least that can be late: a timer, and a look at the clock by the first thing after it. */
export async function bareTimer(name: string, dueAtMs: number): Promise<void> {
  await sleep(Math.max(dueAtMs - Date.now(), 1));
  await stamp(name);
}
