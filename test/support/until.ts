import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for something that happens by itself, for at most 20 s. @throws Error that says what did not happen. */
export async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const giveUpAtMs = Date.now() + 20_000;
  while (!(await isSo())) {
    if (Date.now() > giveUpAtMs) {
      throw new Error(`Waited 20 s in vain: ${what}.`);
    }

    await sleep(50);
  }
}
