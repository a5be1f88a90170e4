import { setTimeout as sleep } from 'node:timers/promises';
import type { ChaosChannel } from './parts/accounts.ts';
import type { Journal } from './parts/journal.ts';
import type { Mortal } from './parts/servers.ts';
import { setTrap, takeDeaths } from './parts/traps.ts';
import type { ChaosPlan, Outage } from './plan/post-plan.ts';

export type Stagehand = {
  readonly plan: ChaosPlan;
  readonly startMs: number;
  readonly folder: string;
  readonly journal: Journal;
  readonly database: Mortal;
  readonly temporal: Mortal;
  readonly channels: readonly ChaosChannel[];
};

/** Does all that befalls everybody at once, at its time. Resolves when everything is back. */
export async function runOutages(hand: Stagehand): Promise<void> {
  const { plan } = hand;
  await Promise.all([
    inTurn(hand),
    ...plan.traps.map(async (trap) => {
      await until(hand, trap.atMs);
      setTrap(hand.folder, trap);
    }),
    ...plan.channels.map(async ({ revokedAtMs }, index) => {
      if (revokedAtMs !== null) {
        await until(hand, revokedAtMs);
        await hand.channels[index]?.revoke();
        hand.journal.note('', `channel ${index} loses its access`);
      }
    }),
  ]);
}

async function inTurn(hand: Stagehand): Promise<void> {
  for (const outage of hand.plan.outages) {
    await until(hand, outage.atMs);
    await takeAway(hand, outage);
  }
}

async function takeAway(hand: Stagehand, { what, forMs, dies }: Outage): Promise<void> {
  const { journal } = hand;
  const server = what === 'Temporal away' ? hand.temporal : hand.database;
  journal.note('', `${what}${dies ? ': killed' : ': cut off'}`);
  await server.gate.close();
  await (dies ? server.kill() : undefined);
  journal.injected(what);
  await sleep(forMs);
  await (dies ? server.revive() : undefined);
  await server.gate.open();
  journal.note('', `${what}: back again`);
}

/** Writes down which processes have died by themselves since. */
export function noteDeaths(folder: string, journal: Journal): void {
  for (const { fault, marker, id } of takeDeaths(folder)) {
    journal.injected(fault, id);
    journal.note(marker, `${fault}, as planned`);
  }
}

const until = ({ startMs }: Stagehand, atMs: number): Promise<void> =>
  sleep(Math.max(0, startMs + atMs - Date.now()));
