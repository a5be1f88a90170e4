import { createHash, randomBytes } from 'node:crypto';
import {
  JoseKey,
  NodeOAuthClient,
  type NodeSavedSession,
  type NodeSavedState,
} from '@atproto/oauth-client-node';
import type { OauthContext } from '../../oauth.ts';
import type { OauthClient } from './client-metadata.ts';
import { egressFetch } from './egress-fetch.ts';
import { nonces } from './nonces.ts';
import { httpHandleResolver } from './handle-resolver.ts';

/** Where identities are looked up. */
export type Directories = {
  /** The directory of `did:plc`. */
  readonly plcUrl: string;
  /** Answers `com.atproto.identity.resolveHandle`. */
  readonly resolverUrl: string;
};

/** The library's client for one call, with what it keeps. */
export type OpenClient = {
  readonly client: NodeOAuthClient;
  readonly states: Map<string, NodeSavedState>;
  readonly sessions: Map<string, NodeSavedSession>;
  /** What its requests carried so far and no message may repeat. */
  readonly sent: ReadonlySet<string>;
};

/**
 * Opens the library for one call. Its stores hold nothing beyond it: what has to last is sealed in our own tables.
 *
 * Plain http is left to the guard of egress, which lets it pass where the operator allows the address.
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
      // What every server has to take, and what our own proofs are signed with. The library would prefer ES256K.
      createKey: () => JoseKey.generate(['ES256']),
      getRandomValues: (length) => randomBytes(length),
      digest: (bytes, { name }) => createHash(name).update(bytes).digest(),
      // The caller holds the lock of the grant's row, which other processes know too.
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
