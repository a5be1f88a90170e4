import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { EnvHttpProxyAgent, fetch } from 'undici';

/** Programs that we did not build: from where, and what must come. `renew-archives.ts` writes the file. */
export type Archive = { readonly url: string; readonly sha256: string };

export type Patience = {
  /** Milliseconds until something must have begun to arrive. A firewall that swallows packets never says no. */
  readonly beginMs: number;
  /** Milliseconds in which at least one more byte must arrive. */
  readonly stallMs: number;
};

export const usualPatience: Patience = { beginMs: 8000, stallMs: 30_000 };

/** In bytes. Releases have some 50 MB; whatever is larger is none. */
const maxBytes = 500_000_000;

/**
 * Writes what lies at a URL to a file, through the proxy of the environment, and follows redirects.
 *
 * @returns its SHA-256 in hex. What to make of it is the caller's to decide, before anything of it is used.
 * @throws Error with a sentence for people when it does not come
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
    setTimeout(() => giveUp.abort(new Error(`nothing came from ${host} for ${ms / 1000} s`)), ms);
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
      done(bytes > maxBytes ? new Error(`${host} sent more than any release has`) : null, chunk);
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

/** The reason of a failed request is the cause of what `fetch` throws. */
function asSentence(error: unknown, host: string): unknown {
  const cause = error instanceof Error ? (error.cause as NodeJS.ErrnoException | undefined) : null;
  return cause ? new Error(`${host}: ${cause.code ?? cause.message}`, { cause: error }) : error;
}
