import path from 'node:path';
import { runCommand } from '../run-command.ts';
import { isExecutable } from './cache-folder.ts';
import type { Search, Source } from './find-program.ts';

/** The oldest server that Punctual is tested with. */
const oldest = { major: 1, minor: 29 };

/** `temporal` on the user's PATH. An old one is passed over: it lacks what the workflows use. */
export const temporalOnPath: Source = {
  name: 'temporal on PATH',
  async find({ env }) {
    const file = await onPath('temporal', env);
    if (!file) {
      return { reason: 'not found' };
    }

    // The version of the tool says nothing: one that was built by hand calls itself 0.0.0.
    const { stdout } = await runCommand(file, ['--version'], { timeoutMs: 10_000 });
    const [, major, minor] = /Server (\d+)\.(\d+)/v.exec(stdout) ?? [];
    if (!major || !minor) {
      return { reason: `${file} does not say which server it brings` };
    }

    const isNewEnough =
      Number(major) > oldest.major ||
      (Number(major) === oldest.major && Number(minor) >= oldest.minor);
    return isNewEnough
      ? { path: file }
      : {
          reason: `${file} brings server ${major}.${minor}; ${oldest.major}.${oldest.minor} or newer is needed`,
        };
  },
};

/** The first executable file of that name on PATH. */
export async function onPath(name: string, env: Search['env']): Promise<string | undefined> {
  for (const folder of (env['PATH'] ?? '').split(path.delimiter)) {
    const file = path.join(folder, name);
    if (folder && (await isExecutable(file))) {
      return file;
    }
  }

  return undefined;
}
