import path from 'node:path';
import { withProgress } from '../progress.ts';
import { runCommand } from '../run-command.ts';
import { addToCache } from './cache-folder.ts';
import type { Source } from './find-program.ts';
import { onPath } from './on-path.ts';

/** Brings server 1.29.1 and Web UI 2.42.1. */
const module = 'github.com/temporalio/cli/cmd/temporal@v1.5.1';

export const builtTemporal = 'temporal-1.5.1';

/** Temporal built from the Go registry: minutes once, then it lies in the cache. */
export const temporalFromGo: Source = {
  name: 'built with Go',
  async find({ env, say, signal }) {
    const go = await onPath('go', env);
    if (!go) {
      return { reason: 'no go on PATH' };
    }

    let failure = '';
    const build = (folder: string) =>
      withProgress(say, 'Building Temporal 1.5.1 with Go (about 4 minutes, once)', async () => {
        const result = await runCommand(go, ['install', module], {
          // Another GOOS or GOARCH would make a program for another machine, and put it elsewhere.
          env: { ...env, GOBIN: folder, GOOS: '', GOARCH: '' },
          ...(signal ? { signal } : {}),
        });
        failure = result.ok ? '' : result.stderr.trim().split('\n').slice(-5).join('\n    ');
        return path.join(folder, 'temporal');
      });
    try {
      return { path: await addToCache(env, builtTemporal, build) };
    } catch (error) {
      return { reason: failure || String(error) };
    }
  },
};
