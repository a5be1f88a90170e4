import { summed, type SeenFigures } from '../watch-figures.ts';
import type { Evidence, Violation } from './evidence.ts';

/**
 * Metrics: the networks of a run never take any back, so that none may be seen to fall, unless a restore took the database
 * back; and sums are those of what is listed.
 */
export function checkFigures({ figures, access }: Evidence): Violation[] {
  const byChannel = Map.groupBy(figures.seen, ({ postId, channelId }) => `${postId} ${channelId}`);
  const falls = [...byChannel.values()].flatMap((seen) =>
    seen.slice(1).flatMap((after, index): Violation[] => {
      const before = seen[index];
      const isRestored = access.restores.some(
        ({ restoredAtMs }) =>
          before !== undefined &&
          before.askedAtMs <= restoredAtMs &&
          restoredAtMs <= after.seenAtMs,
      );
      return before === undefined || isRestored || !hasFallen(before, after)
        ? []
        : [
            {
              invariant: 'metrics that fell',
              marker: '',
              what: `post ${after.postId}, channel ${after.channelId}: ${told(before)}, then ${told(after)}`,
            },
          ];
    }),
  );
  const wrong = summed.filter((name) => figures.totals[name] !== figures.listed[name]);
  return [
    ...falls,
    ...wrong.map((name): Violation => ({
      invariant: 'metrics whose sum is another',
      marker: '',
      what: `${name}: ${figures.totals[name]} in the totals, ${figures.listed[name]} in the list`,
    })),
  ];
}

const hasFallen = (before: SeenFigures, after: SeenFigures): boolean =>
  after.updatedAtMs < before.updatedAtMs ||
  Object.entries(before.metrics).some(([name, value]) => (after.metrics[name] ?? -1) < value);

const told = ({ metrics, updatedAtMs }: SeenFigures): string =>
  `${JSON.stringify(metrics)} of ${new Date(updatedAtMs).toISOString()}`;
