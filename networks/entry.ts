import type { Json } from '../domain/json-schema.ts';
import type { Env } from '../runtime/config/read-values.ts';
import type { Egress } from '../runtime/egress/egress.ts';
import type { Rules } from './content-rules.ts';
import type { Account, Connection, Connector, Network } from './network.ts';
import type { OauthEntry } from './oauth.ts';

/**
 * Asks a server of the network what it takes, where servers differ: as settings, which replace those of its channels.
 *
 * @throws NetworkError when it does not tell.
 */
export type ReadLimits = (http: Egress, baseUrl: string) => Promise<Readonly<Record<string, Json>>>;

/**
 * Asks the network, at little cost, whether an account can still be entered. Creates nothing, and refreshes nothing.
 *
 * @returns whose account it is: the caller compares.
 * @throws NetworkError `access_lost` when it cannot.
 */
export type CheckAccount = (
  connection: Pick<
    Connection,
    'http' | 'baseUrl' | 'remoteId' | 'credentials' | 'session' | 'settings'
  >,
) => Promise<Pick<Account, 'remoteId' | 'handle' | 'displayName'>>;

/** The page of an account for people; null when its address is not known. */
export type ProfileUrl = (
  account: Pick<Account, 'baseUrl' | 'remoteId' | 'handle' | 'settings'>,
) => string | null;

/**
 * What the folder of a network exports for the registry.
 *
 * @param env Holds the network's own settings: `PUNCTUAL_<NETWORK>_…`.
 * @param problems Takes a sentence for each setting that is wrong.
 */
export type Entry = (
  env: Env,
  problems: string[],
) => {
  readonly rules: Rules;
  /**
   * Loads the adapter, where there is one. Bluesky's lexicon alone takes half a second of processor time, and a process
   * that publishes nothing needs the rules only.
   */
  readonly adapter?: () => Promise<Network>;
  readonly connector?: Connector;
  readonly oauth?: OauthEntry;
  readonly check?: CheckAccount;
  readonly limits?: ReadLimits;
  readonly profileUrl?: ProfileUrl;
};
