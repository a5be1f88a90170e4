import { PlainError } from './plain-error.ts';
import { runCommand } from './run-command.ts';
import type { StartSettings } from './start-settings.ts';

/**
 * Has all settings judged as API and worker will judge them, while nothing runs yet.
 *
 * @throws PlainError with a line per setting that is wrong
 */
export async function checkSettings(
  root: string,
  { databaseUrl, secretKey, opensAddresses }: StartSettings,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<void> {
  const seenTo = {
    // Of the right form: `npm start` brings its own.
    DATABASE_URL: databaseUrl ?? 'postgresql://127.0.0.1/punctual',
    SECRET_KEY: secretKey ?? '0'.repeat(64),
    ...(opensAddresses ? {} : { PUNCTUAL_EGRESS_ALLOW_IN_PRODUCTION: 'yes' }),
  };
  const result = await runCommand(process.execPath, ['cli/check-settings.ts'], {
    cwd: root,
    env: { ...env, ...seenTo },
    signal,
  });
  signal.throwIfAborted();
  if (!result.ok) {
    throw new PlainError(result.stderr.trim());
  }
}
