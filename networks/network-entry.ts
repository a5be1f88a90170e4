import type { Json } from '../domain/json-schema.ts';
import { wholeNumber, type Env } from '../runtime/config/settings.ts';
import type { Egress } from '../runtime/egress/egress.ts';
import type { Allowance, Rules } from './content-rules.ts';
import type { Account, Connection, Network } from './network.ts';
import type { OauthEntry } from './oauth/contract.ts';

/** Reads a server's limits, where servers differ, as settings, which replace those of its channels. */
export type ReadLimits = (http: Egress, baseUrl: string) => Promise<Readonly<Record<string, Json>>>;

/** Reads an account's identity, which the caller compares, with cheap requests. Creates and refreshes nothing. */
export type CheckAccount = (
  connection: Pick<
    Connection,
    'http' | 'baseUrl' | 'remoteId' | 'credentials' | 'session' | 'settings'
  >,
) => Promise<Pick<Account, 'remoteId' | 'displayName'>>;

export type ProfileUrl = (account: OfPage) => string | null;

type OfPage = Pick<Account, 'baseUrl' | 'remoteId' | 'handle' | 'settings'>;

/**
 * The pages of an account's posts. `part` counts the parts of a thread from 0: on some networks all but the first are
 * comments.
 */
export type PostPages = {
  /**
   * Reads the id of a post, as in `SentPart`, from the address of its page.
   *
   * @returns null when the address is not of a post of the account; an id of null when the address does not tell it.
   */
  readonly idAt: (account: OfPage, url: URL, part: number) => { readonly id: string | null } | null;
  /** An address for errors that `idAt` accepts with an id in place of each `{id}`, and refuses as it is. */
  readonly example: (account: OfPage, part: number) => string;
};

/** The path of an address below a network's website; null on another website. */
export function pathOn(website: string, { host, pathname }: URL): string | null {
  const site = new URL(website);
  const base = site.pathname.replace(/\/$/v, '');
  return bareHost(host) === bareHost(site.host) && pathname.startsWith(`${base}/`)
    ? pathname.slice(base.length)
    : null;
}

/** Networks show the same pages at `www.youtube.com` and `m.youtube.com`. */
const bareHost = (host: string): string => host.replace(/^(?:www|mobile|m)\./v, '');

/** Connects an account by its tokens: `npm run admin -- channel add-…`. */
export type Connector = {
  /** The values that are needed beside the secret, by name. */
  readonly options: Readonly<
    Record<string, { readonly placeholder: string; readonly required: boolean }>
  >;
  /** The name of the secret: `token`, `app-password`. Never an option. */
  readonly secret: string;
  /** For `npm run admin`, as a sentence. */
  readonly summary: string;
  /**
   * Reads the account of the credentials. Creates nothing.
   *
   * @param values The options, and the secret by its name.
   */
  readonly connect: (http: Egress, values: Readonly<Record<string, string>>) => Promise<Account>;
  /** The values that connect the sandbox's demo account. @param url The sandbox's URL, without a trailing slash. */
  readonly sandbox: (url: string) => Readonly<Record<string, string>>;
};

/** @param problems Collects a sentence for each invalid setting. */
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
  readonly postPages?: PostPages;
};

/** @returns undefined when the setting is 0, which means no limit. */
export function readAllowance(
  env: Env,
  problems: string[],
  { otherwise, ...allowance }: Omit<Allowance, 'perDay'> & { readonly otherwise: number },
): Allowance | undefined {
  const bounds = { otherwise, least: 0, most: 1_000_000_000 };
  const perDay = wholeNumber(env, allowance.setting, bounds, problems);
  return perDay === 0 ? undefined : { ...allowance, perDay };
}
