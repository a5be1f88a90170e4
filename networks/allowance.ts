import type { Json } from '../domain/json-schema.ts';
import { wholeNumber, type Env } from '../runtime/config/read-values.ts';
import type { Options } from './content-rules.ts';

/** A workspace's daily share (UTC) of a limit that the network sets for the operator's whole app. */
export type Allowance = {
  /** At least 1. */
  readonly perDay: number;
  /** The unit in the plural, for the error message. */
  readonly unit: string;
  /** The setting that holds `perDay`. */
  readonly setting: string;
  /**
   * The cost of sending a part.
   *
   * @param isUploading Whether an upload of its files has begun; it was counted when it began.
   */
  readonly cost: (
    part: { readonly data: Json; readonly options: Options },
    isUploading: boolean,
  ) => number;
};

/** @returns undefined when the setting is 0, which means no limit. */
export function readAllowance(
  env: Env,
  problems: string[],
  { otherwise, ...allowance }: Omit<Allowance, 'perDay'> & { readonly otherwise: number },
): Allowance | undefined {
  const bounds = { otherwise, least: 0, most: 1_000_000_000 };
  const perDay = wholeNumber(env, allowance.setting, bounds, problems);
  return perDay === 0 ? undefined : { ...allowance, perDay };
}
