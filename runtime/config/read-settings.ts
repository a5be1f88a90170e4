import { unknownSettings } from './known-settings.ts';
import { ConfigError, type Env } from './read-values.ts';

type Readers = Readonly<Record<string, (env: Env) => unknown>>;

type Settings<T extends Readers> = { readonly [Name in keyof T]: ReturnType<T[Name]> };

/**
 * Reads all settings of a process, so that one start reports every wrong setting.
 *
 * @param readers Each throws a ConfigError for the settings that it reads.
 * @throws ConfigError
 */
export function readSettings<T extends Readers>(env: Env, readers: T): Settings<T> {
  const problems = unknownSettings(env);
  const read = Object.entries(readers).map(([name, reader]) => {
    try {
      return [name, reader(env)];
    } catch (error) {
      if (!(error instanceof ConfigError)) {
        throw error;
      }

      problems.push(...error.problems);
      return [name, undefined];
    }
  });
  if (problems.length > 0) {
    throw new ConfigError(problems);
  }

  return Object.fromEntries(read) as Settings<T>;
}

/** Like `readSettings`, but prints the problems to stderr and exits with code 1. */
export function readSettingsOrExit<T extends Readers>(env: Env, readers: T): Settings<T> {
  try {
    return readSettings(env, readers);
  } catch (error) {
    if (!(error instanceof ConfigError)) {
      throw error;
    }

    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}
