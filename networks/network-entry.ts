import type { Json } from '../domain/json-schema.ts';
import type { Env } from '../runtime/config/read-values.ts';
import type { Egress } from '../runtime/egress/egress.ts';
import type { Rules } from './content-rules.ts';
import type { Account, Connection, Connector, Network } from './network.ts';
import type { OauthEntry } from './oauth/contract.ts';

/**
 * Reads a server's limits, where servers differ, as settings, which replace those of its channels.
 *
 * @throws NetworkError when the server does not report them.
 */
export type ReadLimits = (http: Egress, baseUrl: string) => Promise<Readonly<Record<string, Json>>>;

/**
 * Checks, with cheap requests, whether an account is still accessible. Creates and refreshes nothing.
 *
 * @returns the account's identity, which the caller compares.
 * @throws NetworkError `access_lost` when it is inaccessible.
 */
export type CheckAccount = (
  connection: Pick<
    Connection,
    'http' | 'baseUrl' | 'remoteId' | 'credentials' | 'session' | 'settings'
  >,
) => Promise<Pick<Account, 'remoteId' | 'handle' | 'displayName'>>;

/** The URL of an account's page; null when unknown. */
export type ProfileUrl = (
  account: Pick<Account, 'baseUrl' | 'remoteId' | 'handle' | 'settings'>,
) => string | null;

/**
 * The export of a network's folder for the registry.
 *
 * @param env Holds the network's own settings: `PUNCTUAL_<NETWORK>_…`.
 * @param problems Collects a sentence for each invalid setting.
 */
export type NetworkEntry = (
  env: Env,
  problems: string[],
) => {
  readonly rules: Rules;
  /**
   * Loads the adapter, if there is one. Loaded lazily: Bluesky's lexicon alone takes half a second of CPU time, and a
   * process that does not publish needs only the rules.
   */
  readonly adapter?: () => Promise<Network>;
  readonly connector?: Connector;
  readonly oauth?: OauthEntry;
  readonly check?: CheckAccount;
  readonly limits?: ReadLimits;
  readonly profileUrl?: ProfileUrl;
};
