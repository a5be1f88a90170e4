import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Stage } from '../../../scripts/parts/part.ts';
import { installPythonGenerator } from '../api-clients/install-python-generator.ts';
import { findTestServer } from './temporal-test-server.ts';
import type { Part } from '../needs.ts';
import { findChromium } from './chromium-program.ts';
import { startGcsEmulator } from './gcs-emulator.ts';
import { startGoToSocial } from './gotosocial.ts';
import { startPds } from './pds.ts';
import { installNpmPackages } from './npm-packages.ts';
import { installPythonPackages } from './python-packages.ts';
import { findPgbouncer } from './pgbouncer-program.ts';
import { startTestPostgres } from './postgres.ts';
import { startTestTemporal } from './temporal.ts';
import type { TestService } from './test-service.ts';
import { startVersitygw } from './versitygw.ts';

/** The running services, and for each missing part the reason. */
export type Services = {
  readonly running: readonly TestService[];
  readonly missing: Readonly<Partial<Record<Part, string>>>;
};

/**
 * Starts the services that test files share, concurrently: the wanted parts, or all. Never throws, because a missing
 * part is a reason to skip tests.
 */
export async function startServices(
  folder: string,
  stage: Stage,
  wanted?: ReadonlySet<Part>,
): Promise<Services> {
  const starters: Readonly<Record<Part, () => Promise<TestService>>> = {
    postgres: () => startTestPostgres(folder, stage),
    temporal: () => startTestTemporal(folder, stage),
    'test-server': () => testServer(stage),
    gotosocial: startGoToSocial,
    pds: () => startPds(),
    versitygw: () => startVersitygw(folder, stage),
    'gcs-emulator': () => startGcsEmulator(folder, stage),
    pgbouncer: () => pgbouncer(stage),
    chromium: () => chromium(stage),
    'container-checks': () => containerChecks(stage),
    'python-generator': async () => ({
      env: { PUNCTUAL_TEST_PYTHON_GENERATOR: await installPythonGenerator(process.env, stage) },
      stop: async () => undefined,
    }),
    'typescript-generator': async () => ({
      env: {
        PUNCTUAL_TEST_TYPESCRIPT_GENERATOR: await packagesOf(
          'TypeScript client generators',
          'api-clients',
          stage,
        ),
      },
      stop: async () => undefined,
    }),
    'api-linters': async () => ({
      env: {
        PUNCTUAL_TEST_API_LINTERS: await packagesOf('OpenAPI linters', 'api-linters', stage),
      },
      stop: async () => undefined,
    }),
    openssl: () => onPath('openssl', 'version'),
    python: () => onPath('python3', '--version'),
  };
  const running: TestService[] = [];
  const missing: Partial<Record<Part, string>> = {};
  await Promise.all(
    (Object.entries(starters) as [Part, () => Promise<TestService>][])
      .filter(([part]) => wanted === undefined || wanted.has(part))
      .map(async ([part, start]) => {
        try {
          running.push(await start());
        } catch (error) {
          missing[part] = error instanceof Error ? error.message : String(error);
        }
      }),
  );
  return { running, missing };
}

/** A program on PATH that checks our signatures. @throws Error when it cannot run. */
async function onPath(name: string, ...args: readonly string[]): Promise<TestService> {
  await promisify(execFile)(name, args, { timeout: 30_000 });
  return { env: {}, stop: async () => undefined };
}

/** Shares only the program: each test starts its own before the shared PostgreSQL. */
async function pgbouncer(stage: Stage): Promise<TestService> {
  const program = await findPgbouncer(process.env, stage);
  return { env: { PUNCTUAL_TEST_PGBOUNCER_PATH: program }, stop: async () => undefined };
}

const packagesOf = (name: string, folder: string, { say, signal }: Stage): Promise<string> =>
  installNpmPackages(name, path.join(import.meta.dirname, '..', folder), {
    env: process.env,
    say,
    signal,
  });

/** Shares only the program: each test file starts its own browser. */
async function chromium(stage: Stage): Promise<TestService> {
  const { path: program, env } = await findChromium(process.env, stage);
  return {
    env: { PUNCTUAL_TEST_CHROMIUM_PATH: program, PUNCTUAL_TEST_CHROMIUM_ENV: JSON.stringify(env) },
    stop: async () => undefined,
  };
}

/** hadolint and check-jsonschema, which check the container files without Docker. */
async function containerChecks(stage: Stage): Promise<TestService> {
  const { packages } = await installPythonPackages(
    'hadolint-2.15.1-check-jsonschema-0.39.0',
    path.join(import.meta.dirname, 'container-checks.txt'),
    stage,
  );
  return { env: { PUNCTUAL_TEST_CONTAINER_CHECKS: packages }, stop: async () => undefined };
}

/** Shares only the program: each test that skips time starts its own server. */
async function testServer({ say, signal }: Stage): Promise<TestService> {
  const program = await findTestServer({ env: process.env, say, signal });
  return { env: { PUNCTUAL_TEST_SERVER_PATH: program }, stop: async () => undefined };
}
