import type { Platform } from '../../../networks/registry.ts';
import { networkFacts, type NetworkFacts } from '../network-facts.ts';

export type { Platform } from '../../../networks/registry.ts';

/** Every network of a run. */
export const platforms = Object.keys(networkFacts) as readonly Platform[];

export const factsOf = (platform: Platform): NetworkFacts => networkFacts[platform];

/** Whether the sandbox plays all accounts of the network; the others run on real servers. */
export const isPlayed = (platform: Platform): boolean => !factsOf(platform).realAccountOf;

/** Whether the network ends a grant when a refresh token is sent again. */
export const isRotating = (platform: Platform): boolean =>
  factsOf(platform).refreshTokens === 'single-use';

/** The item whose turn it is. @throws RangeError when there are no items. */
export function byTurns<T>(items: readonly T[], turn: number): T {
  const [item] = items.slice(turn % items.length);
  if (item === undefined) {
    throw new RangeError('There are no items.');
  }
  return item;
}
