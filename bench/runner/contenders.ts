import { median } from './quantile.ts';

/** A measured system. */
type Named<Name extends string> = { readonly name: Name };

/** The results of each contender, one per round. */
export type Results<Name extends string, Result> = Readonly<Record<Name, readonly Result[]>>;

/**
 * Measures the contenders in immediate succession, in alternating order, so that other load affects all of them.
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
 * The rate as a multiple of the other's: the median over rounds, each compared with the adjacent measurement of the
 * other. Undefined when one of them was not measured.
 */
export function timesTheRateOf(
  one: readonly Rate[] = [],
  other: readonly Rate[] = [],
): number | undefined {
  return one.length === 0 || other.length === 0
    ? undefined
    : median(one.map(({ perSecond }, round) => perSecond / (other[round]?.perSecond ?? NaN)));
}
