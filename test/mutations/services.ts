import { readFile } from 'node:fs/promises';
import { startGuard } from '../../scripts/parts/guard.ts';
import { startServices } from '../support/services/all.ts';
import { testEnvironment } from '../support/run-ava.ts';

export type Shared = {
  /** The whole environment of a run of ava but for the workflow bundle. */
  readonly env: Readonly<Record<string, string>>;
  readonly stop: () => Promise<void>;
};

/**
 * What tests share: started as `test/support/run.ts` does, or, where PUNCTUAL_TEST_ENV_FILE names a JSON file with
 * their environment, those that run already.
 *
 * @param folder For their data.
 */
export async function shareServices(folder: string, signal: AbortSignal): Promise<Shared> {
  const own = testEnvironment(process.env) as Record<string, string>;
  const file = process.env['PUNCTUAL_TEST_ENV_FILE'];
  if (file !== undefined) {
    return { env: { ...own, ...JSON.parse(await readFile(file, 'utf8')) }, stop: async () => {} };
  }

  const guard = startGuard();
  const say = (line: string) => console.log(line);
  const { running, missing } = await startServices(folder, { guard, say, signal });
  for (const [part, reason] of Object.entries(missing)) {
    say(`\nTests that need ${part} are skipped, and notice nothing. ${reason}`);
  }

  const env = Object.assign({}, ...running.map((service) => service.env)) as Record<string, string>;
  return {
    env: { ...own, ...env, PUNCTUAL_TEST_MISSING: JSON.stringify(missing) },
    stop: async () => {
      await Promise.all(running.map((service) => service.stop().catch(() => undefined)));
      await guard.endAll();
    },
  };
}
