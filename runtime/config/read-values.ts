export type Env = Readonly<Record<string, string | undefined>>;

/** Lists every missing or wrong setting at once, so that the operator can fix all of them before the next start. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  /** @param problems A sentence each. */
  constructor(problems: readonly string[]) {
    super(`Correct these settings (docs/settings.md):\n- ${problems.join('\n- ')}`);
    this.problems = problems;
  }
}

/** A setting without surrounding spaces; `otherwise` when it is unset or empty. */
export const textSetting = (env: Env, name: string, otherwise: string): string =>
  env[name]?.trim() || otherwise;

/** The default and the allowed range. */
export type Bounds = { readonly otherwise: number; readonly least: number; readonly most: number };

/** @param problems Gets a sentence when the value is not a whole number within its bounds. */
export function wholeNumber(
  env: Env,
  name: string,
  { otherwise, least, most }: Bounds,
  problems: string[],
): number {
  const given = textSetting(env, name, String(otherwise));
  if (!/^\d{1,15}$/v.test(given) || Number(given) < least || Number(given) > most) {
    problems.push(`${name} must be a whole number from ${least} to ${most}, not "${given}".`);
  }

  return Number(given);
}

/** @returns the URL in an optional setting, without a trailing slash; null when it is not set. */
export const optionalAddress = (
  env: Env,
  name: string,
  example: string,
  problems: string[],
): string | null =>
  textSetting(env, name, '') === '' ? null : address(env, name, example, problems);

/** Reads the URL of a server, without a trailing slash. @param problems Gets a sentence when the value is not a URL. */
export function address(env: Env, name: string, otherwise: string, problems: string[]): string {
  const given = textSetting(env, name, otherwise);
  const url = URL.parse(given);
  if (!url || !/^https?:$/v.test(url.protocol) || url.search !== '' || url.hash !== '') {
    problems.push(`${name} must be an address such as ${otherwise}, not "${given}".`);
  }

  return given.replace(/\/+$/v, '');
}
