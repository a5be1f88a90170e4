import { platforms } from '../../networks/registry.ts';

/**
 * @param file Where a suite describes the networks.
 * @throws Error when a network of the registry is not among them.
 */
export function assertFacts(facts: Readonly<Record<string, unknown>>, file: string): void {
  const missing = platforms.filter((platform) => !Object.hasOwn(facts, platform));
  if (missing.length > 0) {
    throw new Error(`${file} has no entry for ${missing.join(', ')}.`);
  }
}
