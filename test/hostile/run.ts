import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { PlainError } from '../../scripts/terminal.ts';
import { withPostgres } from '../support/services/with-postgres.ts';
import { must, type Attack } from './attack.ts';
import { bodyAttacks } from './attacks/bodies.ts';
import { connectionAttacks } from './attacks/connections.ts';
import { serverAttacks } from './attacks/servers.ts';
import { textAttacks } from './attacks/texts.ts';
import { uploadAttacks } from './attacks/uploads.ts';
import { startService, type Service } from './service.ts';
import { memoryMb, watch } from './watch.ts';

// `npm run hostile [-- --only REGEXP]`: harmful requests, one after the other, to an API process that runs as operators
// start it. After each, checks that no other workspace was affected and that the process has not restarted.

/** The maximum time of `/healthz` in milliseconds, and the maximum growth of the process in MiB. */
const bounds = { healthMs: 1000, grewMb: 150 };
const tooSlow = `/healthz took more than ${bounds.healthMs} ms`;
const tooLarge = `the process grew by more than ${bounds.grewMb} MiB`;

const attacks = [
  ...bodyAttacks,
  ...textAttacks,
  ...serverAttacks,
  ...uploadAttacks,
  ...connectionAttacks,
];
const interrupted = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => interrupted.abort());
}

try {
  const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });
  process.exit(await attackAll(new RegExp(values.only, 'v'), interrupted.signal));
} catch (error) {
  console.error(error instanceof PlainError ? error.message : error);
  process.exit(1);
}

/** @returns the exit code: 0 when no attack did harm. */
async function attackAll(only: RegExp, signal: AbortSignal): Promise<number> {
  const say = (line: string) => console.log(line);
  const hurt = await withPostgres('hostile', signal, async (_folder, t) => {
    const service = await startService(t);
    await warmUp(service);
    const firstMb = await memoryMb(service.api.child.pid ?? 0);
    let hurting = 0;
    for (const attack of attacks.filter(({ name }) => only.test(name))) {
      signal.throwIfAborted();
      const faults = await attackUntilSure(service, attack, firstMb, say);
      hurting += faults.length > 0 ? 1 : 0;
      faults.forEach((fault) => say(`           ${fault}`));
    }

    return hurting;
  });
  say(hurt === 0 ? 'No attack did harm.' : `${hurt} attacks did harm.`);
  return hurt === 0 ? 0 : 1;
}

/** Grows the process to its size after a while of use, so that later growth comes from the attack: V8 collects late. */
async function warmUp({ target, neighbour }: Service): Promise<void> {
  const { attacker, channels } = target;
  const longest = { body: 'x'.repeat(49_000), channel_ids: channels };
  for (let round = 0; round < 750; round += 1) {
    await Promise.all(Array.from({ length: 4 }, () => callAsUsual(neighbour)));
    await (round % 10 === 0 && attacker.post('/posts/validate', longest));
  }
}

/** The calls of another workspace during an attack. @returns their faults. */
async function callAsUsual(neighbour: Service['neighbour']): Promise<string[]> {
  const [made, listed] = [
    await neighbour.post('/posts', { body: 'A draft of another workspace' }),
    await neighbour.get('/posts?limit=1'),
  ];
  return [
    ...must(made.status === 201, `a neighbour's draft got the status ${made.status}`),
    ...must(listed.status === 200, `a neighbour's list got the status ${listed.status}`),
  ];
}

/**
 * Makes an attack up to three times while `/healthz` is slow or the process large, because a busy machine or late garbage
 * collection may be the cause. @returns the faults of the last time.
 */
async function attackUntilSure(
  service: Service,
  attack: Attack,
  firstMb: number,
  say: (line: string) => void,
): Promise<readonly string[]> {
  let faults: readonly string[] = [];
  for (let round = 0; round < 3; round += 1) {
    faults = await attackOnce(service, attack, firstMb, say);
    if (!faults.includes(tooSlow) && !faults.includes(tooLarge)) {
      return faults;
    }
  }

  return faults;
}

async function attackOnce(
  { api, target, neighbour }: Service,
  { name, run }: Attack,
  firstMb: number,
  say: (line: string) => void,
): Promise<readonly string[]> {
  const watching = watch(api.url, api.child.pid ?? 0, firstMb);
  const beganMs = performance.now();
  const over = new AbortController();
  const neighbours = (async () => {
    const faults: string[] = [];
    while (!over.signal.aborted) {
      faults.push(...(await callAsUsual(neighbour)));
      await sleep(20);
    }

    return faults;
  })();
  const faults = await run(target).finally(() => over.abort());
  const theirs = await neighbours;
  const seconds = ((performance.now() - beganMs) / 1000).toFixed(1);
  const { healthMs, grewMb, failures } = await watching.stop();
  const figures = `/healthz ${healthMs.toFixed(0)} ms, ${grewMb.toFixed(0)} MiB more`;
  say(`${seconds.padStart(6)} s  ${name}: ${figures}`);
  return [
    ...faults,
    ...theirs.slice(0, 3),
    ...failures.slice(0, 3),
    ...must(healthMs <= bounds.healthMs, tooSlow),
    ...must(grewMb <= bounds.grewMb, tooLarge),
    ...must(api.child.exitCode === null && api.child.signalCode === null, 'the process ended'),
  ];
}
