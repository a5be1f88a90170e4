import { spawn } from 'node:child_process';
import path from 'node:path';
import type { FuzzOptions } from './options.ts';

/** Schemathesis is considered hung this many seconds after its own time limit. */
const graceSeconds = 60;

/**
 * Runs all checks in all phases, and shows the output of Schemathesis.
 *
 * @param url The API's, without a trailing slash.
 * @param folder From `prepareFolder`.
 * @returns its exit code: 0 when it found nothing.
 */
export async function runSchemathesis(
  python: string,
  url: string,
  folder: string,
  { seed, maxTimeSeconds, rest }: FuzzOptions,
  signal: AbortSignal,
): Promise<number> {
  const flags = {
    '--url': `${url}/api/v1`,
    '--checks': 'all',
    '--phases': 'examples,coverage,fuzzing,stateful',
    '--seed': String(seed),
    '--max-time': String(maxTimeSeconds),
  };
  const before = [
    '-m',
    'schemathesis.cli',
    '--config-file',
    path.join(folder, 'schemathesis.toml'),
  ];
  const run = ['run', `${url}/openapi.json`, ...Object.entries(flags).flat(), ...rest];
  const child = spawn(python, [...before, ...run], {
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: (maxTimeSeconds + graceSeconds) * 1000,
    signal,
    cwd: folder,
    env: withoutProxies(process.env),
  });
  return new Promise((resolve) => {
    child.on('error', () => resolve(1));
    child.on('close', (code) => resolve(code ?? 1));
  });
}

/** A proxy from the environment would get every request, but the fuzzer must contact only 127.0.0.1. */
const withoutProxies = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !/_proxy$/iv.test(name)));
