import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../../../scripts/ports.ts';
import { freePdsAccounts } from '../pds-accounts.ts';
import type { TestService } from './gotosocial.ts';

type Listening = { listen(port: number, ...rest: unknown[]): Server };

/**
 * Starts a Bluesky PDS and its PLC directory, both in this process and on free ports of the loopback.
 *
 * Account handles end in `.test`. The PDS sends no request to the internet: by default its AppView's address is
 * unreachable.
 *
 * @param appView Where the PDS asks for replies, likes and other reactions to posts.
 * @throws Error with the reason when better-sqlite3 was not compiled for this Node.
 */
export async function startPds(appView = nowhere): Promise<TestService> {
  // Both packages set up their loggers while they load.
  process.env['LOG_ENABLED'] = 'false';
  const { Database, PlcServer } = await import('@did-plc/server');
  const [port, plcPort] = [await freePort(), await freePort()];
  const adminPassword = randomBytes(16).toString('hex');
  const folder = await mkdtemp(path.join(tmpdir(), 'punctual-pds-'));
  const pds = await createPds({ folder, port, plcPort, adminPassword, appView });
  readClientsFromLoopback(pds.ctx.oauthProvider);
  const plc = PlcServer.create({ db: Database.mock(), port: plcPort });
  listenOnLoopback(plc.app);
  listenOnLoopback(pds.app);
  await plc.start();
  await pds.start();

  return {
    env: {
      PUNCTUAL_TEST_PDS_URL: `http://127.0.0.1:${port}`,
      PUNCTUAL_TEST_PDS_ADMIN_PASSWORD: adminPassword,
      PUNCTUAL_TEST_PLC_URL: `http://127.0.0.1:${plcPort}`,
    },
    stop: async () => {
      await pds.destroy();
      await plc.destroy();
      await rm(folder, { recursive: true, force: true });
      await rm(freePdsAccounts(adminPassword), { recursive: true, force: true });
    },
  };
}

type AppView = { readonly url: string; readonly did: string };

const nowhere: AppView = { url: 'https://appview.invalid', did: 'did:example:invalid' };

type PdsOptions = {
  readonly folder: string;
  readonly port: number;
  readonly plcPort: number;
  readonly adminPassword: string;
  readonly appView: AppView;
};

async function createPds({ folder, port, plcPort, adminPassword, appView }: PdsOptions) {
  const { PDS } = await import('@atproto/pds');
  const { Secp256k1Keypair } = await import('@atproto/crypto');
  const rotationKey = await Secp256k1Keypair.create({ exportable: true });
  const recoveryKey = await Secp256k1Keypair.create();
  return PDS.fromEnv({
    devMode: true,
    port,
    hostname: 'localhost',
    dataDirectory: folder,
    blobstoreDiskLocation: path.join(folder, 'blobs'),
    recoveryDidKey: recoveryKey.did(),
    plcRotationKeyK256PrivateKeyHex: Buffer.from(await rotationKey.export()).toString('hex'),
    adminPassword,
    jwtSecret: randomBytes(16).toString('hex'),
    serviceHandleDomains: ['.test'],
    didPlcUrl: `http://127.0.0.1:${plcPort}`,
    bskyAppViewUrl: appView.url,
    bskyAppViewDid: appView.did,
    inviteRequired: false,
    disableSsrfProtection: true,
  });
}

/** Both servers listen on all addresses and have no setting for it. */
function listenOnLoopback(app: Listening): void {
  const listen = app.listen.bind(app);
  app.listen = (port) => listen(port, '127.0.0.1');
}

type ReadsClients = {
  readonly clientManager: {
    getDiscoverableClientMetadata(clientId: string): Promise<unknown>;
    validateClientMetadata(clientId: string, metadata: unknown): unknown;
  };
};

/**
 * Replaces DNS and TLS for apps: reads the metadata of `https://punctual-4000.example.com/…` from port 4000 of the
 * loopback. The PDS still validates them.
 */
function readClientsFromLoopback(provider: unknown): void {
  const { clientManager } = provider as ReadsClients;
  clientManager.getDiscoverableClientMetadata = async (clientId) => {
    const { hostname, pathname } = new URL(clientId);
    const [, port] = /^punctual-(\d+)\.example\.com$/v.exec(hostname) ?? [];
    const response = await fetch(`http://127.0.0.1:${port}${pathname}`);
    const { oauthClientMetadataSchema } = await import('@atproto/oauth-client-node');
    return clientManager.validateClientMetadata(
      clientId,
      oauthClientMetadataSchema.parse(await response.json()),
    );
  };
}
