import { createHash, randomBytes } from 'node:crypto';
import {
  JoseKey,
  NodeOAuthClient,
  type NodeSavedSession,
  type NodeSavedState,
} from '@atproto/oauth-client-node';
import type { OauthContext } from '../../oauth/contract.ts';
import type { OauthClient } from './client-metadata.ts';
import { egressFetch } from './egress-fetch.ts';
import { nonces } from './nonces.ts';
import { httpHandleResolver } from './handle-resolver.ts';

/** Where identities are resolved. */
export type Directories = {
  /** The directory of `did:plc`. */
  readonly plcUrl: string;
  /** Answers `com.atproto.identity.resolveHandle`. */
  readonly resolverUrl: string;
};

/** The library's client for one call, with its stores. */
export type OpenClient = {
  readonly client: NodeOAuthClient;
  readonly states: Map<string, NodeSavedState>;
  readonly sessions: Map<string, NodeSavedSession>;
  /** Secrets of its requests so far, which must not appear in messages. */
  readonly sent: ReadonlySet<string>;
};

/**
 * Opens the library for one call. Its stores exist only in memory; lasting data is sealed in our own tables.
 *
 * The library allows plain http, because the egress guard decides which addresses the operator allows.
 */
export async function openClient(
  { http, signal, sandboxUrl }: Pick<OauthContext, 'http' | 'signal' | 'sandboxUrl'>,
  { metadata, key }: OauthClient,
  directories: Directories,
): Promise<OpenClient> {
  const states = new Map<string, NodeSavedState>();
  const sessions = new Map<string, NodeSavedSession>();
  const sent = new Set<string>();
  const resolver = { http, baseUrl: sandboxUrl ?? directories.resolverUrl };
  const client = new NodeOAuthClient({
    clientMetadata: metadata,
    ...(key && { keyset: [await JoseKey.fromJWK({ ...key, key_ops: ['sign'] })] }),
    allowHttp: true,
    fetch: egressFetch(http, sent, signal),
    plcDirectoryUrl: sandboxUrl ?? directories.plcUrl,
    handleResolver: httpHandleResolver({ ...resolver, ...(signal && { signal }) }),
    dpopNonceCache: nonces,
    stateStore: storeIn(states),
    sessionStore: storeIn(sessions),
    runtimeImplementation: {
      // Every server must accept ES256, and our own proofs use it. The library would prefer ES256K.
      createKey: () => JoseKey.generate(['ES256']),
      getRandomValues: (length) => randomBytes(length),
      digest: (bytes, { name }) => createHash(name).update(bytes).digest(),
      // The caller holds the lock of the grant's row, which also works across processes.
      requestLock: (_name, work) => work(),
    },
  });
  return { client, states, sessions, sent };
}

const storeIn = <V>(map: Map<string, V>) => ({
  get: (key: string) => map.get(key),
  set: (key: string, value: V) => void map.set(key, value),
  del: (key: string) => void map.delete(key),
});
