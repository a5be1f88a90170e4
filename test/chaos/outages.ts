import { setTimeout as sleep } from 'node:timers/promises';
import type { ChaosChannel } from './networks/connect-channels.ts';
import type { Lines } from './networks/lines.ts';
import type { TemporalServer } from './parts/servers.ts';
import { setTrap } from './parts/traps.ts';
import type { ChaosPlan, Outage } from './plan/post-plan.ts';
import { backUp, replace, restore, type Restorable } from './restore.ts';

export type Stagehand = Restorable & {
  readonly plan: Pick<ChaosPlan, 'outages' | 'serverOutages' | 'traps' | 'channels'>;
  readonly startMs: number;
  readonly folder: string;
  readonly temporal: TemporalServer;
  readonly lines: Lines;
  readonly channels: readonly ChaosChannel[];
};

/** Applies the faults that affect all posts, each at its time. Resolves when everything is back. */
export async function runOutages(hand: Stagehand): Promise<void> {
  const { plan, journal, lines } = hand;
  await Promise.all([
    inTurn(hand),
    ...plan.serverOutages.map(async ({ what, platform, atMs, forMs }) => {
      await until(hand, atMs);
      for (const line of lines.frail(platform)) {
        line.suffer(what, forMs);
      }
      journal.injected(what);
      journal.note('', `${what}: the unreliable ${platform} servers, for ${forMs / 1000} s`);
      await until(hand, atMs + forMs);
    }),
    ...plan.traps.map(async (trap) => {
      await until(hand, trap.atMs);
      setTrap(hand.folder, trap);
    }),
    ...plan.channels.map(async ({ revokedAtMs }, index) => {
      if (revokedAtMs !== null) {
        await until(hand, revokedAtMs);
        await hand.channels[index]?.revoke();
        journal.note('', `channel ${index} loses its access`);
      }
    }),
  ]);
}

async function inTurn(hand: Stagehand): Promise<void> {
  for (const outage of hand.plan.outages) {
    await (outage.backupAtMs === null
      ? takeAway(hand, outage)
      : takeBack(hand, outage, outage.backupAtMs));
    hand.journal.disturbed();
  }
}

async function takeBack(
  hand: Stagehand,
  { atMs, dies, runsOn }: Outage,
  backupAtMs: number,
): Promise<void> {
  await until(hand, backupAtMs);
  const backup = await backUp(hand);
  // A busy machine may have taken long for the backup.
  await Promise.all([until(hand, atMs), sleep(atMs - backupAtMs)]);
  hand.journal.disturbed();
  await (runsOn ? replace(hand, backup) : restore(hand, backup, dies));
}

async function takeAway(hand: Stagehand, { what, atMs, forMs, dies }: Outage): Promise<void> {
  const { journal } = hand;
  await until(hand, atMs);
  journal.disturbed();
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

const until = ({ startMs }: Stagehand, atMs: number): Promise<void> =>
  sleep(Math.max(0, startMs + atMs - Date.now()));
