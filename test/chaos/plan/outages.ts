import type { Random } from '../../support/simulation/random.ts';
import { trapFaults } from './faults.ts';
import { byTurns } from './platforms.ts';
import { platformsInTime } from './recovery.ts';
import type { Outage, ServerOutage, Trap } from './post-plan.ts';

/**
 * In milliseconds: how long before the outage the backup is made, how long the outage lasts, and how long everything
 * may recover before the next one. For a restore, `forMs` is an estimate.
 */
const outages = [
  { what: 'Temporal away', leadMs: 0, forMs: 20_000, restMs: 15_000 },
  { what: 'PostgreSQL away', leadMs: 0, forMs: 10_000, restMs: 10_000 },
  { what: 'PostgreSQL restored', leadMs: 6000, forMs: 8000, restMs: 12_000 },
] as const;

const firstAtMs = 9000;

/**
 * The outages during a run, one after the other: `quota` of each kind, and `restores` restores. Every second one of a
 * kind kills the server. A restore takes planned faults and acknowledged calls from the posts that are being sent, so a
 * run with one of each begins with the restore.
 */
export function planOutages(
  random: Random,
  { quota, restores }: { readonly quota: number; readonly restores: number },
): Outage[] {
  const all = outages.flatMap((outage) => repeated(outage, outage.leadMs > 0 ? restores : quota));
  const isFirst = ({ leadMs }: Kind): number => (quota === 1 && leadMs > 0 ? 0 : 1);
  return inTurn(
    random,
    shuffled(random, all).toSorted((a, b) => isFirst(a) - isFirst(b)),
    firstAtMs,
  );
}

/** In milliseconds: the ages of the copies that replace a database under running processes. */
const ages = [6000, 30_000, 100_000];
/** In milliseconds: an estimate of the time until the product notices it and is restored. */
const noticedMs = 60_000;

/** The restores at the end of a run. Every second one leaves API and workers running. */
export function planRestores(random: Random, quota: number, fromMs: number): Outage[] {
  const firstAge = random.below(ages.length);
  const restores = outages.filter(({ leadMs }) => leadMs > 0);
  const kinds = restores.flatMap((outage) =>
    Array.from({ length: quota }, (_, index): Kind => {
      const leadMs = byTurns(ages, firstAge + index / 2);
      const failover = { ...outage, leadMs, forMs: noticedMs, runsOn: true, dies: true };
      return index % 2 === 0 ? failover : { ...outage, runsOn: false, dies: index % 4 === 1 };
    }),
  );
  return inTurn(random, kinds, fromMs);
}

type Kind = Pick<Outage, 'what' | 'forMs' | 'dies' | 'runsOn'> & {
  readonly leadMs: number;
  readonly restMs: number;
};

const repeated = (outage: (typeof outages)[number], times: number): Kind[] =>
  Array.from({ length: times }, (_, index) => ({
    ...outage,
    dies: index % 2 === 0,
    runsOn: false,
  }));

function inTurn(random: Random, kinds: readonly Kind[], firstMs: number): Outage[] {
  let fromMs = firstMs;
  return kinds.map(({ what, leadMs, forMs, restMs, dies, runsOn }) => {
    const backupMs = fromMs + random.below(3000);
    const atMs = backupMs + leadMs;
    fromMs = atMs + forMs + restMs;
    return { what, atMs, forMs, dies, runsOn, backupAtMs: leadMs > 0 ? backupMs : null };
  });
}

/** In milliseconds. A hanging request times out after 30 s, and the circuit opens after a few of them. */
const serverOutages = [
  { what: 'server hangs', forMs: 45_000 },
  { what: 'server answers 502', forMs: 45_000 },
] as const;
const serverRestMs = 15_000;
const firstServerOutageMs = 27_000;

/**
 * `quota` of each kind, by turns on the servers of each network, one after the other there. A short run leaves out
 * networks on which a post stays in doubt for longer than the run lasts.
 */
export function planServerOutages(
  random: Random,
  { quota, isLong }: { readonly quota: number; readonly isLong: boolean },
): ServerOutage[] {
  const among = platformsInTime('500, not done', isLong);
  const first = random.below(among.length);
  const freeAtMs = new Map<string, number>();
  return Array.from({ length: quota }, (_, index) => index).flatMap((index) =>
    serverOutages.map(({ what, forMs }, kind): ServerOutage => {
      const platform = byTurns(among, first + index + kind);
      const atMs = (freeAtMs.get(platform) ?? firstServerOutageMs) + random.below(3000);
      freeAtMs.set(platform, atMs + forMs + serverRestMs);
      return { what, platform, atMs, forMs };
    }),
  );
}

/** Spread over the run, and early enough that a process still reaches each point. */
export function planTraps(random: Random, quota: number, windowMs: number): Trap[] {
  return trapFaults.flatMap((fault, kind) =>
    Array.from({ length: quota }, (_, index) => ({
      id: `trap${kind + 1}-${index + 1}`,
      fault,
      // The sweep finds a post whose workflow is gone only two minutes later.
      atMs:
        fault === 'terminated in finalize' && quota === 1
          ? 25_000
          : 4000 + ((index + random.next()) / quota) * (windowMs - 20_000),
    })),
  );
}

export function shuffled<T>(random: Random, list: readonly T[]): T[] {
  const keyed = list.map((item) => ({ item, key: random.next() }));
  return keyed.toSorted((a, b) => a.key - b.key).map(({ item }) => item);
}
