export type Env = Readonly<Record<string, string | undefined>>;

/** Names every setting that is missing or wrong at once, so that a start fails one time and not five. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  /** @param problems A sentence each. */
  constructor(problems: readonly string[]) {
    super(`Correct these settings (docs/settings.md):\n- ${problems.join('\n- ')}`);
    this.problems = problems;
  }
}

/** A setting without the spaces around it; one that is not set or empty is `otherwise`. */
export const text = (env: Env, name: string, otherwise: string): string =>
  env[name]?.trim() || otherwise;

/** The number of a setting that is not set, and what it may be. */
export type Bounds = { readonly otherwise: number; readonly least: number; readonly most: number };

/** @param problems Takes a sentence when the setting is no whole number within its bounds. */
export function wholeNumber(
  env: Env,
  name: string,
  { otherwise, least, most }: Bounds,
  problems: string[],
): number {
  const given = text(env, name, String(otherwise));
  if (!/^\d{1,15}$/v.test(given) || Number(given) < least || Number(given) > most) {
    problems.push(`${name} must be a whole number from ${least} to ${most}, not "${given}".`);
  }

  return Number(given);
}

/** @returns the address of a setting that has no default, without a slash at the end; null when it is not set. */
export const optionalAddress = (
  env: Env,
  name: string,
  example: string,
  problems: string[],
): string | null => (text(env, name, '') === '' ? null : address(env, name, example, problems));

/** The address of a server, without a slash at the end. @param problems Takes a sentence when the setting is none. */
export function address(env: Env, name: string, otherwise: string, problems: string[]): string {
  const given = text(env, name, otherwise);
  const url = URL.parse(given);
  if (!url || !/^https?:$/v.test(url.protocol) || url.search !== '' || url.hash !== '') {
    problems.push(`${name} must be an address such as ${otherwise}, not "${given}".`);
  }

  return given.replace(/\/+$/v, '');
}
