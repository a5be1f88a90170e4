import type { Random } from '../../support/simulation/random.ts';
import { trapFaults } from './faults.ts';
import { platforms } from './platforms.ts';
import type { Outage, ServerOutage, Trap } from './post-plan.ts';

/**
 * In milliseconds: how long before it the backup is made, how long each is away, and how long everything has to recover
 * until the next outage. Of a restore, `forMs` is about what it takes.
 */
const outages = [
  { what: 'Temporal away', leadMs: 0, forMs: 20_000, restMs: 15_000 },
  { what: 'PostgreSQL away', leadMs: 0, forMs: 10_000, restMs: 10_000 },
  { what: 'PostgreSQL restored', leadMs: 6000, forMs: 8000, restMs: 12_000 },
] as const;

const firstAtMs = 9000;

/**
 * Those that befall a run in its midst, one after the other, each as often as `quota` says, but for restores; every
 * second one of a kind takes the server's life. A restore takes a planned fault from every post that is on its way just
 * then, and what was acknowledged: a run that has one of each begins with it.
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

/** Restores alone, at the end of a long run. */
export const planRestores = (random: Random, quota: number, fromMs: number): Outage[] =>
  inTurn(
    random,
    outages.filter(({ leadMs }) => leadMs > 0).flatMap((outage) => repeated(outage, quota)),
    fromMs,
  );

type Kind = (typeof outages)[number] & { readonly dies: boolean };

const repeated = (outage: (typeof outages)[number], times: number): Kind[] =>
  Array.from({ length: times }, (_, index) => ({ ...outage, dies: index % 2 === 0 }));

function inTurn(random: Random, kinds: readonly Kind[], firstMs: number): Outage[] {
  let fromMs = firstMs;
  return kinds.map(({ what, leadMs, forMs, restMs, dies }) => {
    const backupMs = fromMs + random.below(3000);
    const atMs = backupMs + leadMs;
    fromMs = atMs + forMs + restMs;
    return { what, atMs, forMs, dies, backupAtMs: leadMs > 0 ? backupMs : null };
  });
}

/** In milliseconds. A request that hangs is given up after 30 s, and the server once that has happened a few times. */
const serverOutages = [
  { what: 'server hangs', forMs: 45_000 },
  { what: 'server answers 502', forMs: 45_000 },
] as const;
const serverRestMs = 15_000;
const firstServerOutageMs = 27_000;

/**
 * Each as often as `quota` says: by turns on the servers of each network, where they follow each other. A short run
 * leaves out YouTube, where a post is in doubt for longer than the run lasts.
 */
export function planServerOutages(
  random: Random,
  { quota, isLong }: { readonly quota: number; readonly isLong: boolean },
): ServerOutage[] {
  const among = platforms.filter((platform) => isLong || platform !== 'youtube');
  const first = random.below(among.length);
  const freeAtMs = new Map<string, number>();
  return Array.from({ length: quota }, (_, index) => index).flatMap((index) =>
    serverOutages.map(({ what, forMs }, kind): ServerOutage => {
      const platform = among[(first + index + kind) % among.length] ?? 'mastodon';
      const atMs = (freeAtMs.get(platform) ?? firstServerOutageMs) + random.below(3000);
      freeAtMs.set(platform, atMs + forMs + serverRestMs);
      return { what, platform, atMs, forMs };
    }),
  );
}

/** Spread over the run, and early enough that a process still reaches it. */
export function planTraps(random: Random, quota: number, windowMs: number): Trap[] {
  return trapFaults.flatMap((fault, kind) =>
    Array.from({ length: quota }, (_, index) => ({
      id: `trap${kind + 1}-${index + 1}`,
      fault,
      // What a workflow did not come to is found by the sweep, two minutes later.
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
