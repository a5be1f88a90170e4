import { readFile } from 'node:fs/promises';
import type { SandboxNetwork } from '../network.ts';

const types = {
  'style.css': 'text/css; charset=utf-8',
  'live.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
} as const;

export type Asset = { readonly type: string; readonly body: Uint8Array };

/** The page's files by name: those in the folder, and those generated from networks' colours. */
export async function loadAssets(
  networks: readonly SandboxNetwork[],
): Promise<ReadonlyMap<string, Asset>> {
  const read = Object.entries(types).map(async ([name, type]) => {
    const body = await readFile(new URL(`assets/${name}`, import.meta.url));
    return [name, { type, body }] as const;
  });
  const pictures = networks.map(
    (network) =>
      [`${network.id}.svg`, { type: types['icon.svg'], body: pictureOf(network) }] as const,
  );
  const colours = { type: types['style.css'], body: coloursOf(networks) };
  return new Map<string, Asset>([
    ...(await Promise.all(read)),
    ...pictures,
    ['networks.css', colours],
  ]);
}

/** The picture of a network's account. */
function pictureOf({ colours: { picture } }: SandboxNetwork): Buffer {
  const [top, bottom] = picture;
  return Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 44 44">
  <defs>
    <linearGradient id="sky" x1="0" y1="0" x2="0" y2="1">
      <stop offset="0" stop-color="${top}" />
      <stop offset="1" stop-color="${bottom}" />
    </linearGradient>
  </defs>
  <rect width="44" height="44" fill="url(#sky)" />
  <circle cx="22" cy="17.5" r="7.5" fill="#fff" />
  <path d="M7 44c0-9.5 6.7-15.5 15-15.5S37 34.5 37 44z" fill="#fff" />
</svg>
`);
}

/** Sets the network's colour for elements with the network's name as class. */
function coloursOf(networks: readonly SandboxNetwork[]): Buffer {
  const rules = networks.map(
    ({ id, colours: { label } }) => `.${id} {\n  --network: light-dark(${label.join(', ')});\n}\n`,
  );
  return Buffer.from(rules.join('\n'));
}
