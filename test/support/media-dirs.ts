import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const folders = new Map<string, string>();

/** The media folder that all processes of a database share, through any gate. This process removes it on exit. */
export function mediaDirOf(databaseUrl: string): string {
  const { pathname } = new URL(databaseUrl);
  const folder = folders.get(pathname) ?? mkdtempSync(path.join(tmpdir(), 'punctual-media-'));
  folders.set(pathname, folder);
  return folder;
}

process.on('exit', () => {
  for (const folder of folders.values()) {
    rmSync(folder, { recursive: true, force: true });
  }
});
