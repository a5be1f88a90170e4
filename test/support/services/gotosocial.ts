import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../scripts/ports.ts';
import { buildGoToSocial, type GoToSocialBuild } from './gotosocial-build.ts';

const startTimeoutMs = 90_000;

/** A server that tests share; `env` has its address. */
export type TestService = {
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
};

/**
 * Starts GoToSocial, a server with the Mastodon API, on a free port of the loopback with its own database.
 *
 * @throws Error with the reason when it cannot be built or does not start.
 */
export async function startGoToSocial(): Promise<TestService> {
  const build = await buildGoToSocial();
  const folder = await mkdtemp(path.join(tmpdir(), 'punctual-gotosocial-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const config = path.join(folder, 'config.yaml');
  await writeFile(config, configuration(build, folder, port));
  const log = path.join(folder, 'log');
  const server = await serve(build, config, log);
  const stop = async () => {
    await end(server);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await untilReady(url, server, log);
  } catch (error) {
    await stop();
    throw error;
  }

  return {
    env: {
      PUNCTUAL_TEST_GOTOSOCIAL_URL: url,
      PUNCTUAL_TEST_GOTOSOCIAL_BINARY: build.binary,
      PUNCTUAL_TEST_GOTOSOCIAL_CONFIG: config,
    },
    stop,
  };
}

async function serve(build: GoToSocialBuild, config: string, log: string): Promise<ChildProcess> {
  const file = await open(log, 'w');
  const server = spawn(build.binary, ['--config-path', config, 'server', 'start'], {
    stdio: ['ignore', file.fd, file.fd],
    env: { ...process.env, GTS_WAZERO_COMPILATION_CACHE: build.wasmCacheFolder },
  });
  // Without a listener, a failed spawn would end the test run; `untilReady` reports it.
  server.on('error', () => {});
  await file.close();
  return server;
}

async function untilReady(url: string, server: ChildProcess, log: string): Promise<void> {
  const giveUpAtMs = Date.now() + startTimeoutMs;
  while (Date.now() < giveUpAtMs) {
    const ready = await fetch(`${url}/api/v2/instance`).then(
      (response) => response.ok,
      () => false,
    );
    if (ready) {
      return;
    }

    if (server.pid === undefined || server.exitCode !== null || server.signalCode !== null) {
      break;
    }
    await sleep(100);
  }

  const words = await readFile(log, 'utf8');
  throw new Error(`GoToSocial did not start. The end of its log: ${words.slice(-1000)}`);
}

async function end(server: ChildProcess): Promise<void> {
  if (server.pid === undefined || server.exitCode !== null || server.signalCode !== null) {
    return;
  }

  const ended = once(server, 'exit');
  server.kill('SIGTERM');
  const killer = setTimeout(() => server.kill('SIGKILL'), 10_000);
  await ended;
  clearTimeout(killer);
}

const configuration = (build: GoToSocialBuild, folder: string, port: number): string => `
host: "127.0.0.1:${port}"
protocol: "http"
bind-address: "127.0.0.1"
port: ${port}
trusted-proxies: ["127.0.0.1/32"]
log-level: "warn"
db-type: "sqlite"
db-address: ${JSON.stringify(path.join(folder, 'gotosocial.db'))}
storage-backend: "local"
storage-local-base-path: ${JSON.stringify(path.join(folder, 'storage'))}
web-template-base-dir: ${JSON.stringify(path.join(build.webFolder, 'template'))}
web-asset-base-dir: ${JSON.stringify(path.join(build.webFolder, 'assets'))}
accounts-registration-open: false
instance-federation-mode: "allowlist"
instance-deliver-to-shared-inboxes: false
letsencrypt-enabled: false
advanced-rate-limit-requests: 0
advanced-throttling-multiplier: 0
media-local-max-size: 40MiB
`;
