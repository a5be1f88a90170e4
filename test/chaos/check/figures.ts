import { summed, type SeenFigures } from '../watch-figures.ts';
import type { Evidence, Violation } from './evidence.ts';

/**
 * The networks of a run never reduce their metrics, so stored metrics may only decrease by a restore. Totals equal the
 * sum of the listed posts.
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
              what: `post ${after.postId}, channel ${after.channelId}: ${describeFigures(before)}, then ${describeFigures(after)}`,
            },
          ];
    }),
  );
  const wrong = summed.filter((name) => (figures.totals[name] ?? 0) !== figures.listed[name]);
  return [
    ...falls,
    ...wrong.map((name): Violation => ({
      invariant: 'totals that differ from the listed posts',
      marker: '',
      what: `${name}: ${figures.totals[name]} in the totals, ${figures.listed[name]} in the list`,
    })),
  ];
}

const hasFallen = (before: SeenFigures, after: SeenFigures): boolean =>
  after.updatedAtMs < before.updatedAtMs ||
  Object.entries(before.metrics).some(([name, value]) => (after.metrics[name] ?? -1) < value);

const describeFigures = ({ metrics, updatedAtMs }: SeenFigures): string =>
  `${JSON.stringify(metrics)} of ${new Date(updatedAtMs).toISOString()}`;
