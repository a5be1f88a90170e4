import { runQuietly } from './run.mjs';

/** An error that the user can fix. Its message is shown without a stack. */
export class InstallError extends Error {
  name = 'InstallError';
}

const away = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH)\b/;

/**
 * Checks that the package registry is reachable. Without it, npm retries every package and an install takes minutes to
 * fail.
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
 * Builds the message for the user when npm failed.
 *
 * @param {string} output of npm
 */
export function installFailure(output) {
  const [, code] = away.exec(output) ?? [];
  const advice = code
    ? `The package registry could not be reached (${code}). Check the network, or the registry that\n` +
      '"npm config get registry" shows, and run the same command again.'
    : 'npm could not install the packages. Its output is above.';
  return `${output.trim()}\n\n${advice}`;
}
