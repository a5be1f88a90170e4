import type { ExecutionContext } from 'ava';
import type { Json } from '../../../domain/json-schema.ts';
import type { Connection } from '../../../networks/network.ts';
import { segmentBytes } from '../../../networks/x/uploads.ts';
import type { Directive } from '../../../sandbox/directives.ts';
import type { Sandbox } from '../../../sandbox/server.ts';
import { lossyProxy } from '../../support/lossy-proxy.ts';
import { video } from '../../support/media-files.ts';
import { openConnection } from '../connection.ts';
import { fileOf, type TestPartMedia } from '../files.ts';
import { nextStep, partsWith, sendStep, throughDatabase } from '../publish.ts';
import { connected, x } from './bench.ts';

/** A video of this many segments: a free box after the playable content fills the size. */
export async function filmOf(segments: number): Promise<TestPartMedia> {
  const film = await video('mp4');
  const box = Buffer.alloc((segments - 1) * segmentBytes + 1000);
  box.writeUInt32BE(box.length, 0);
  box.write('free', 4);
  const facts = { name: 'clip.mp4', type: 'video/mp4', durationMs: 2000 };
  return fileOf(Buffer.concat([film, box]), facts);
}

/** An account behind a proxy that can fail. */
export async function onBrokenLine(t: ExecutionContext) {
  const { sandbox, account, posts } = await connected(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  return { sandbox, account, posts, proxy, connection };
}

/** The same with a file to send. Each attempt gets the uploads that earlier ones stored. */
export async function sending(t: ExecutionContext, file: TestPartMedia) {
  const { sandbox, account, posts, proxy } = await onBrokenLine(t);
  const kept = new Map<string, Json>();
  const openAttempt = (differently: Partial<Connection> = {}) =>
    openConnection(t, account, {
      baseUrl: proxy.url,
      uploadsOf: ({ key }) => JSON.parse(JSON.stringify(kept.get(key) ?? null)),
      saveUploads: async ({ key }, uploads) => {
        kept.set(key, uploads);
      },
      ...differently,
    });
  const parts = partsWith([file], 'With a file');
  const prepared = throughDatabase(await x.prepare(openAttempt(), parts, Date.now()));
  const step = nextStep(x, prepared, []);
  /** Returns the requests since the last call. */
  let from = 0;
  const asked = (): string[] => {
    const since = proxy.seen.slice(from);
    from = proxy.seen.length;
    return since.map(({ path }) => path.replace(/^.*\/2\//v, '').replace(/\d{5,}/v, 'ID'));
  };
  /** Whether the account has one post with exactly this file. */
  const hasFile = async () => {
    const [{ files } = { files: [] }] = await posts();
    const live = await (await fetch(files[0]?.url ?? '')).arrayBuffer();
    return files.length === 1 && Buffer.from(live).equals(file.bytes);
  };
  const sendOnce = (connection = openAttempt()) => sendStep(x, connection, step);
  return { sandbox, proxy, kept, step, openAttempt: openAttempt, posts, asked, hasFile, sendOnce };
}

export async function order(sandbox: Sandbox, directive: Directive): Promise<void> {
  await fetch(`${sandbox.url}/control`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ platform: 'x', directive }),
  });
}

/** Moves the times in stored uploads into the past. */
export function agedBy(kept: Map<string, Json>, ageMs: number): void {
  for (const [key, uploads] of kept) {
    const aged = JSON.stringify(uploads).replaceAll(
      /"(?<name>expiresAtMs|stateSinceMs)":(?<ms>\d+)/gv,
      (_match, name: string, ms: string) => `"${name}":${Number(ms) - ageMs}`,
    );
    kept.set(key, JSON.parse(aged));
  }
}
