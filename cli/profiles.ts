import { mkdir, open, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { CommandError, NoKeyError, UsageError } from './failures.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** A profile in the file. Fields that are not known here are kept. */
type StoredProfile = {
  readonly url: string;
  readonly api_key: string;
  readonly [more: string]: unknown;
};

export type Profiles = {
  readonly current?: string;
  readonly profiles: Readonly<Record<string, StoredProfile>>;
};

export type Access = {
  readonly url: string;
  readonly apiKey: string;
  /** Null for a key of the environment. */
  readonly profile: string | null;
};

export const usualUrl = 'http://127.0.0.1:3000';

export const profilesFile = (env: Env): string =>
  path.join(env['XDG_CONFIG_HOME'] || path.join(homedir(), '.config'), 'punctual', 'config.json');

/** The profiles of the user. @throws CommandError if others can read the file, or it is damaged. */
export async function readProfiles(env: Env): Promise<Profiles> {
  const file = profilesFile(env);
  let text: string;
  try {
    await using handle = await open(file);
    if (process.platform !== 'win32' && ((await handle.stat()).mode & 0o077) !== 0) {
      throw new CommandError(
        `Other users can read ${file}, which has API keys. Run: chmod 600 ${file}`,
      );
    }

    text = await handle.readFile('utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return { profiles: {} };
    }

    throw error;
  }

  try {
    const { current, profiles: stored } = JSON.parse(text) as Profiles;
    const texts = Object.values(stored).flatMap((one) => [one.url, one.api_key]);
    if ([...texts, current ?? ''].some((value) => typeof value !== 'string')) {
      throw new TypeError('A profile has a url and an api_key.');
    }

    // Without a prototype, so that `constructor` is no profile.
    const profiles = Object.assign(Object.create(null), stored) as Profiles['profiles'];
    return { ...(current === undefined ? {} : { current }), profiles };
  } catch {
    throw new CommandError(`${file} is damaged. Correct it, or delete it and log in again.`);
  }
}

/** Changes the file. It is written anew and renamed, so that it is never half-written or open to others. */
export async function changeProfiles(
  env: Env,
  change: (before: Profiles) => Profiles,
): Promise<Profiles> {
  const file = profilesFile(env);
  const after = change(await readProfiles(env));
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, `${JSON.stringify(after, undefined, 2)}\n`, { mode: 0o600 });
  await rename(draft, file);
  return after;
}

export const namedProfile = (env: Env, flag: string | undefined): string | undefined =>
  flag || env['PUNCTUAL_PROFILE'] || undefined;

/** The address and key of `--profile`, else of the environment, else of the current profile. @throws NoKeyError */
export async function chooseAccess(env: Env, flag: string | undefined): Promise<Access> {
  const apiKey = env['PUNCTUAL_API_KEY'];
  if (apiKey && !flag) {
    const url = baseUrl(env['PUNCTUAL_URL'] || usualUrl);
    return { url, apiKey: sendableKey(apiKey), profile: null };
  }

  const { current, profiles } = await readProfiles(env);
  const name = namedProfile(env, flag) ?? current;
  if (name === undefined) {
    throw new NoKeyError(
      'There is no API key. Run "punctual auth login", or set PUNCTUAL_API_KEY.',
    );
  }

  const profile = profiles[name];
  if (!profile) {
    throw new NoKeyError(
      `There is no profile "${name}". ${knownNames(profiles)}Run "punctual auth login --profile ${name}".`,
    );
  }

  const url = baseUrl(profile.url);
  const asked = env['PUNCTUAL_URL'];
  if (asked && !flag && baseUrl(asked) !== url) {
    throw new UsageError(
      `PUNCTUAL_URL is ${asked}, but the profile "${name}" is for ${url}. Set PUNCTUAL_API_KEY too, or give --profile.`,
    );
  }

  return { url, apiKey: profile.api_key, profile: name };
}

const knownNames = (profiles: Profiles['profiles']): string => {
  const names = Object.keys(profiles);
  return names.length > 0 ? `Profiles: ${names.join(', ')}. ` : '';
};

/** A key that a header can carry, unlike one with the ellipsis of an example. @throws NoKeyError */
export function sendableKey(given: string): string {
  if (/[^\s!-~]/v.test(given)) {
    throw new NoKeyError('The API key has characters that no key has. Copy the whole key.');
  }

  return given;
}

/** The address of the service, also of one that was pasted with `/api/v1`. @throws UsageError */
export function baseUrl(given: string): string {
  if (!URL.canParse(given) || !/^https?:$/v.test(new URL(given).protocol)) {
    throw new UsageError(`"${given}" is not an address such as https://punctual.example.com.`);
  }

  return given.replace(/\/+(?:api\/v1\/*)?$/v, '');
}
