import { median } from './quantile.ts';

/** One of those that are measured beside each other. */
type Named<Name extends string> = { readonly name: Name };

/** What was measured of each contender, a result for each round. */
export type Results<Name extends string, Result> = Readonly<Record<Name, readonly Result[]>>;

/**
 * Measures contenders one right after the other, and in the next round the other way round, so that whatever else the
 * machine does meets all of them.
 *
 * @param onMeasured Called after each measurement.
 */
export async function measureByTurns<Name extends string, One extends Named<Name>, Result>(
  contenders: readonly One[],
  rounds: number,
  measure: (contender: One, round: number) => Promise<Result>,
  onMeasured: (contender: One, result: Result, round: number) => void = () => undefined,
): Promise<Partial<Results<Name, Result>>> {
  const results: Partial<Record<Name, Result[]>> = {};
  for (let round = 0; round < rounds; round += 1) {
    for (const contender of round % 2 === 0 ? contenders : contenders.toReversed()) {
      const result = await measure(contender, round);
      (results[contender.name] ??= []).push(result);
      onMeasured(contender, result, round);
    }
  }

  return results;
}

type Rate = { readonly perSecond: number };

/**
 * How many times the other's rate one has: the median over rounds, each beside what was measured right before or after
 * it. Undefined where one of the two was not measured.
 */
export function timesTheRateOf(
  one: readonly Rate[] = [],
  other: readonly Rate[] = [],
): number | undefined {
  return one.length === 0 || other.length === 0
    ? undefined
    : median(one.map(({ perSecond }, round) => perSecond / (other[round]?.perSecond ?? NaN)));
}
