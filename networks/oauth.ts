import type { Json } from '../domain/json-schema.ts';
import type { Egress } from '../runtime/egress/egress.ts';
import type { Account } from './network.ts';

/** What a network handed out for an account. Kept sealed with the channel, and replaced by each refresh. Holds secrets. */
export type Grant = {
  /** What requests carry. */
  readonly accessToken: string;
  /** When that one ends, in milliseconds since 1970; null where the network does not say. */
  readonly accessEndsAtMs: number | null;
  /** Buys the next pair; null where the network gives none. Many networks take it once only. */
  readonly refreshToken: string | null;
  /** When a person has to authorize again, in milliseconds since 1970; null for never, and where the network does not say. */
  readonly endsAtMs: number | null;
  /** What else requests or refreshes need: Bluesky's DPoP key. Each network parses its own shape. */
  readonly data?: Json;
};

/** What identifies this service at a network's authorization server. */
export type OauthApp = { readonly clientId: string; readonly clientSecret: string };

/** The apps that networks registered for us when the first account of a server was connected. Kept sealed. */
export type RegisteredApps = {
  readonly find: (baseUrl: string, redirectUri: string) => Promise<OauthApp | null>;
  /** Keeps the first one where two were registered at the same time. @returns the one that is kept. */
  readonly keep: (baseUrl: string, redirectUri: string, app: OauthApp) => Promise<OauthApp>;
  /** Drops one that its server no longer knows, unless another one took its place. */
  readonly forget: (baseUrl: string, redirectUri: string, app: OauthApp) => Promise<void>;
};

/** What all three steps work with. */
export type OauthContext = {
  readonly http: Egress;
  /** Where browsers reach this service, without a slash at the end. */
  readonly publicUrl: string;
  /** Of the sandbox, for an account of the sandbox; null for one of the network itself. */
  readonly sandboxUrl: string | null;
  readonly apps: RegisteredApps;
  /** Bytes for a key of this installation's own, the same in all its processes: `Sealer.derive`. */
  readonly derive: (purpose: string, lengthBytes: number) => Uint8Array;
  readonly now: () => Date;
  readonly signal?: AbortSignal;
};

export type Begin = OauthContext & {
  /** What the caller or the person said beforehand, by the names in `OauthEntry.fields`. */
  readonly values: Readonly<Record<string, string>>;
  /** A fresh random value for `state`, of 43 characters of base64url. */
  readonly state: string;
  /**
   * Where the browser comes back to. No two authorization servers share one, so that none can pass its own answer off as
   * another's (mix-up, RFC 9700, section 4.4).
   *
   * @param server Names the server, of a network that has many: its base URL.
   */
  readonly redirectUriFor: (server?: string) => string;
};

export type Begun = {
  /** Where the person's browser goes. */
  readonly url: string;
  /** That the answer carries: the one given, or the library's own. */
  readonly state: string;
  readonly redirectUri: string;
  /** What `finish` needs: the code verifier. Kept sealed with the link. */
  readonly kept: Json;
};

export type Finish = OauthContext & {
  /** The query of the request that the browser came back with; its state is checked already. */
  readonly answer: URLSearchParams;
  readonly redirectUri: string;
  readonly kept: Json;
};

export type Authorized = {
  readonly grant: Grant;
  /** What the grant opens, one at least; the person chooses where there are more. Their credentials are of no account. */
  readonly accounts: readonly Account[];
};

export type Refresh = OauthContext & {
  /** Of the channel. */
  readonly baseUrl: string;
  readonly remoteId: string;
  readonly grant: Grant;
};

/** How accounts of a network are connected in a browser, and stay connected. */
export type Oauth = {
  /**
   * Makes the address at which a person allows us in. Creates nothing but a registration of this service.
   *
   * @throws OauthError; AppError `invalid_request` for values that are none.
   */
  begin(request: Begin): Promise<Begun>;
  /**
   * Redeems the network's answer, and asks whose accounts it opens.
   *
   * @throws OauthError
   */
  finish(request: Finish): Promise<Authorized>;
  /**
   * Buys a new access token. The caller sees to it that nobody else does so for this grant at the same time.
   *
   * @throws NetworkError `access_lost` when the network's answer says that the grant is over, and only then;
   *   `rate_limited`, `network_unavailable`, or `internal` where this service's own registration is refused.
   */
  refresh(request: Refresh): Promise<Grant>;
};

/** What a network's entry says of it, without loading any of it. */
export type OauthEntry = {
  /** What people call it. Left out: its platform, with a capital letter. */
  readonly name?: string;
  /** An account that moved to another server has the same id there, and `finish` proves whose id it is. */
  readonly moves?: boolean;
  /** Settings that are missing for accounts of the network itself; empty when all are there. */
  readonly missing: readonly string[];
  /** What has to be known before the browser goes anywhere, by name in `POST /channels/connect`. */
  readonly fields: Readonly<Record<string, ConnectField>>;
  /** The network lets in a person who allowed this service before, without asking again. So our own page asks. */
  readonly asksOnce?: boolean;
  /** Whether accounts can be connected with the secret of the network's `connector` too, on the same page. */
  readonly takesSecret?: boolean;
  /** The document by which authorization servers know this service, where it has to serve one itself. */
  readonly clientMetadata?: ClientMetadata;
  readonly load: () => Promise<Oauth>;
};

type ClientMetadata = {
  /** Below the public URL: `/connect/bluesky/client-metadata.json`. */
  readonly path: string;
  /** @returns null where the public URL is none at which a server could read it. */
  readonly make: (
    service: Pick<OauthContext, 'publicUrl' | 'derive'> & { readonly redirectUri: string },
  ) => Promise<object | null>;
};

export type ConnectField = {
  /** For people: `Your server`. */
  readonly label: string;
  readonly placeholder: string;
  readonly required: boolean;
};

/**
 * - `denied`: the person said no.
 * - `expired`: the answer came too late, or was used before.
 * - `misconfigured`: the network does not take our registration: an operator's matter.
 * - `unsupported`: the server does not do what is needed.
 * - `no_account`: the grant opens no account that could publish.
 * - `unavailable`: the network does not answer, or with nonsense.
 */
export type OauthErrorCode =
  | 'denied'
  | 'expired'
  | 'misconfigured'
  | 'unsupported'
  | 'no_account'
  | 'unavailable';

/** Why an account was not connected. The message is a sentence for the person at the browser, and holds no secret. */
export class OauthError extends Error {
  override readonly name = 'OauthError';
  readonly code: OauthErrorCode;

  constructor(code: OauthErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
