import { readFile } from 'node:fs/promises';

const types = {
  'style.css': 'text/css; charset=utf-8',
  'live.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
  'mastodon.svg': 'image/svg+xml',
  'bluesky.svg': 'image/svg+xml',
} as const;

export type Asset = { readonly type: string; readonly body: Buffer };

/** Reads the page's few files, by their names. */
export async function loadAssets(): Promise<ReadonlyMap<string, Asset>> {
  const read = Object.entries(types).map(async ([name, type]) => {
    const body = await readFile(new URL(`assets/${name}`, import.meta.url));
    return [name, { type, body }] as const;
  });
  return new Map(await Promise.all(read));
}
