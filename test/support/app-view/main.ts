// Runs Bluesky's AppView in a separate process: it follows one PDS and stores its posts in PostgreSQL.
//
// The AppView has no setting for it, so this file restricts it to the loopback: for listening, name lookups and
// requests.
import { once } from 'node:events';
import dns from 'node:dns/promises';
import { Server } from 'node:net';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AppViewSettings } from './start-app-view.ts';

type Running = { start(): Promise<unknown> };
type Options = Readonly<Record<string, unknown>>;

/** The types of the used part of the package, which is not a dependency of the project. */
type Bsky = {
  readonly Database: new (options: Options) => {
    migrateToLatestOrThrow(): Promise<unknown>;
    close(): Promise<void>;
  };
  readonly DataPlaneServer: {
    create(
      db: unknown,
      port: number,
      plcUrl: string,
      fetch: typeof globalThis.fetch,
    ): Promise<{ readonly idResolver: unknown }>;
  };
  readonly ServerConfig: new (options: Options) => unknown;
  readonly BskyAppView: { create(options: Options): Running };
  readonly RepoSubscription: new (options: Options) => Running;
};

const {
  packages,
  port,
  dataPlanePort,
  did,
  pdsUrl,
  plcUrl,
  databaseUrl,
  adminPassword,
}: AppViewSettings = JSON.parse(process.env['PUNCTUAL_TEST_APP_VIEW'] ?? '');

listenOnLoopback();
dns.setServers(['127.0.0.1:1']);
const bsky: Bsky = await load('@atproto/bsky/dist/index.js');
const { Secp256k1Keypair } = await load<typeof import('@atproto/crypto')>(
  '@atproto/crypto/dist/index.js',
);

const migrated = new bsky.Database({ url: databaseUrl, schema: 'app_view' });
await migrated.migrateToLatestOrThrow();
await migrated.close();
const db = new bsky.Database({ url: databaseUrl, schema: 'app_view', poolSize: 4 });
const { idResolver } = await bsky.DataPlaneServer.create(
  db,
  dataPlanePort,
  plcUrl,
  fetchFromLoopback,
);
const appView = bsky.BskyAppView.create({
  config: new bsky.ServerConfig(configuration()),
  signingKey: await Secp256k1Keypair.create(),
});
await appView.start();
const service = pdsUrl.replace(/^http/v, 'ws');
await new bsky.RepoSubscription({ service, db, idResolver }).start();
process.send?.('ready');
// The test that started this process has ended.
await once(process, 'disconnect');
process.exit();

function configuration(): Options {
  return {
    version: 'test',
    port,
    publicUrl: `http://127.0.0.1:${port}`,
    serverDid: did,
    didPlcUrl: plcUrl,
    dataplaneUrls: [`http://127.0.0.1:${dataPlanePort}`],
    dataplaneHttpVersion: '1.1',
    // Bsync serves mutes and notifications, which no test uses.
    bsyncUrl: 'http://127.0.0.1:1',
    bsyncHttpVersion: '1.1',
    modServiceDid: 'did:example:moderation',
    labelsFromIssuerDids: [],
    adminPasswords: [adminPassword],
    disableSsrfProtection: true,
    alternateAudienceDids: [],
    etcdHosts: [],
    maxThreadParents: 50,
    draftsLimit: 500,
    feedGenSkeletonTimeout: 5000,
    bigThreadUris: new Set(),
    searchTagsHide: new Set(),
    searchTagsHideAll: new Set(),
    threadTagsBumpDown: new Set(),
    threadTagsHide: new Set(),
    debugFieldAllowedDids: new Set(),
    visibilityTagHide: '',
    visibilityTagRankPrefix: '',
  };
}

async function load<T>(file: string): Promise<T> {
  return import(pathToFileURL(path.join(packages, file)).href) as Promise<T>;
}

function listenOnLoopback(): void {
  const { listen } = Server.prototype;
  Server.prototype.listen = function listenHere(this: Server, first: unknown, ...rest: unknown[]) {
    const at = typeof first === 'number' ? [{ port: first, host: '127.0.0.1' }] : [first];
    return (listen as (...args: unknown[]) => Server).call(this, ...at, ...rest);
  } as typeof listen;
}

async function fetchFromLoopback(
  input: string | URL | Request,
  init?: RequestInit,
): Promise<Response> {
  const { hostname } = new URL(input instanceof Request ? input.url : input);
  if (hostname !== '127.0.0.1' && hostname !== 'localhost') {
    throw new Error(`${hostname} is not the loopback.`);
  }
  return fetch(input, init);
}
