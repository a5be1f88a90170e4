import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import * as fc from 'fast-check';
import { PlainError } from '../../scripts/terminal.ts';
import { startService } from '../hostile/service.ts';
import { withPostgres } from '../support/services/with-postgres.ts';
import { figureProperties } from './figures.ts';
import { grantProperties } from './grants.ts';
import { networkProperties } from './networks.ts';
import type { Property } from './property.ts';
import { receiverProperty } from './receivers.ts';
import { requestProperties } from './requests.ts';
import { urlProperties } from './urls.ts';

// `npm run fuzz:bytes [-- --seconds 60] [--seed N] [--only REGEXP]`: fast-check generates valid, nearly valid and
// random bytes for all code that reads bytes from outside. It shrinks each failing input, and a seed repeats it.

const interrupted = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => interrupted.abort());
}

try {
  process.exit(await fuzz(interrupted.signal));
} catch (error) {
  console.error(error instanceof PlainError ? error.message : error);
  process.exit(1);
}

function readOptions(): { seconds: number; seed: number; only: RegExp } {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '60' },
      seed: { type: 'string', default: String(randomInt(2 ** 31)) },
      only: { type: 'string', default: '' },
    },
  });
  return {
    seconds: Number(values.seconds),
    seed: Number(values.seed),
    only: new RegExp(values.only, 'v'),
  };
}

/** @returns the exit code: 0 when it found nothing. */
async function fuzz(signal: AbortSignal): Promise<number> {
  const { seconds, seed, only } = readOptions();
  const say = (line: string) => console.log(line);
  const found = await withPostgres('fuzz', signal, async (_folder, t) => {
    const service = await startService(t);
    const properties = [
      ...(await requestProperties(service)),
      ...urlProperties,
      await receiverProperty(t),
      ...(await networkProperties(t)),
      ...(await figureProperties(t)),
      ...(await grantProperties()),
    ].filter(({ name }) => only.test(name));
    say(`To repeat it: npm run fuzz:bytes -- --seed ${seed}`);
    let failed = 0;
    for (const property of properties) {
      signal.throwIfAborted();
      failed += await tryOut(property, (seconds * 1000) / properties.length, seed, say);
    }

    if (service.api.child.exitCode === null) {
      return failed;
    }

    say('The API process ended.');
    return failed + 1;
  });
  say(found === 0 ? 'Nothing was found.' : `${found} properties do not hold.`);
  return found === 0 ? 0 : 1;
}

/** @returns 1 when the property does not hold. */
async function tryOut(
  { name, check }: Property,
  limitMs: number,
  seed: number,
  say: (line: string) => void,
): Promise<0 | 1> {
  const details = await fc.check(check as fc.IAsyncProperty<unknown>, {
    seed,
    numRuns: 10_000_000,
    interruptAfterTimeLimit: limitMs,
    markInterruptAsFailure: false,
  });
  say(`${String(details.numRuns).padStart(8)} times  ${name}`);
  if (!details.failed) {
    return 0;
  }

  say(fc.defaultReportMessage(details) ?? 'It does not hold.');
  console.error(details.errorInstance);
  return 1;
}
