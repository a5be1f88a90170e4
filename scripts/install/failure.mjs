import { runQuietly } from './run.mjs';

/** Something the user can do something about: its message is shown without a stack. */
export class InstallError extends Error {
  name = 'InstallError';
}

const away = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH)\b/;

/**
 * Asks the package registry for one small thing first. Without it, an install on a machine whose registry is
 * away takes minutes to fail, because npm tries every single package again and again.
 *
 * @param {string} root
 * @throws InstallError when the registry does not answer within about 20 s
 */
export async function checkRegistry(root) {
  const patience = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--fetch-timeout=10000'];
  const { ok, output } = await runQuietly(root, ['npm', 'view', 'koa', 'version', ...patience]);
  if (!ok) {
    throw new InstallError(installFailure(output));
  }
}

/**
 * What to tell a person when npm failed.
 *
 * @param {string} output of npm
 */
export function installFailure(output) {
  const [, code] = away.exec(output) ?? [];
  const advice = code
    ? `The package registry could not be reached (${code}). Check the network, or the registry that\n` +
      '"npm config get registry" shows, and run the same command again.'
    : 'npm could not install the packages. The lines above are its own words.';
  return `${output.trim()}\n\n${advice}`;
}
