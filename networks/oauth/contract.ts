import type { Json } from '../../domain/json-schema.ts';
import type { Egress } from '../../runtime/egress/egress.ts';
import type { Account } from '../network.ts';

/** The tokens of an account. Stored sealed with the channel, and replaced by each refresh. Contains secrets. */
export type Grant = {
  /** Sent with requests. */
  readonly accessToken: string;
  /** When the access token expires, in milliseconds since 1970; null when the network does not say. */
  readonly accessEndsAtMs: number | null;
  /** Gets the next tokens; null when the network issues none. On many networks it is valid once. */
  readonly refreshToken: string | null;
  /** When a person has to authorize again, in milliseconds since 1970; null for never or unknown. */
  readonly endsAtMs: number | null;
  /** Other data for requests or refreshes: Bluesky's DPoP key. Each network parses its own shape. */
  readonly data?: Json;
};

/** This service's client credentials at an authorization server. */
export type OauthAppCredentials = { readonly clientId: string; readonly clientSecret: string };

/** Apps that were registered automatically when the first account of a server was connected. Stored sealed. */
export type RegisteredApps = {
  readonly find: (baseUrl: string, redirectUri: string) => Promise<OauthAppCredentials | null>;
  /** Stores an app; of two concurrent registrations the first one wins. @returns the stored one. */
  readonly keep: (
    baseUrl: string,
    redirectUri: string,
    app: OauthAppCredentials,
  ) => Promise<OauthAppCredentials>;
  /** Removes an app that its server no longer knows, unless it was already replaced. */
  readonly forget: (
    baseUrl: string,
    redirectUri: string,
    app: OauthAppCredentials,
  ) => Promise<void>;
};

export type OauthContext = {
  readonly http: Egress;
  readonly publicUrl: string;
  /** The sandbox's URL for a sandbox account; null for an account of the network itself. */
  readonly sandboxUrl: string | null;
  readonly apps: RegisteredApps;
  /** Derives key bytes that are unique to this installation and equal in all its processes: `Sealer.derive`. */
  readonly derive: (purpose: string, lengthBytes: number) => Uint8Array;
  readonly now: () => Date;
  readonly signal?: AbortSignal;
};

export type Begin = OauthContext & {
  /** The values for `OauthEntry.fields`, by name. */
  readonly values: Readonly<Record<string, string>>;
  /** A fresh random value for `state`, of 43 characters of base64url. */
  readonly state: string;
  /**
   * The URL to which the browser returns. Each authorization server gets its own, so that none can pass off its
   * response as another's (mix-up, RFC 9700, section 4.4).
   */
  readonly redirectUriFor: (server?: string) => string;
};

export type Begun = {
  readonly url: string;
  /** The `state` of the response: the given one, or the library's own. */
  readonly state: string;
  readonly redirectUri: string;
  /** Data for `finish`, such as the code verifier. Stored sealed with the link. */
  readonly kept: Json;
};

export type Finish = OauthContext & {
  /** The query with which the browser returned. Its state is already checked. */
  readonly answer: URLSearchParams;
  readonly redirectUri: string;
  readonly kept: Json;
};

export type Authorized = {
  readonly grant: Grant;
  /** The accounts that the grant covers, at least one; of several the person chooses. Their credentials are empty. */
  readonly accounts: readonly Account[];
};

export type Refresh = OauthContext & {
  /** From the channel. */
  readonly baseUrl: string;
  readonly remoteId: string;
  readonly grant: Grant;
};

/** Connects accounts of a network in a browser, and refreshes their tokens. */
export type Oauth = {
  /** Makes the URL at which a person authorizes this service. @throws AppError `invalid_request` for invalid values. */
  begin(request: Begin): Promise<Begun>;
  /** Redeems the network's response, and reads the accounts that it covers. @throws OauthError */
  finish(request: Finish): Promise<Authorized>;
  /**
   * Gets a new access token. The caller must hold the lock of the grant, so that it is refreshed only once at a time.
   *
   * @throws NetworkError `access_lost` only when the network's response says that the grant has ended; `rate_limited`,
   *   `network_unavailable`, or `internal` when this service's own registration is refused.
   */
  refresh(request: Refresh): Promise<Grant>;
};

/** A network's OAuth properties that are known without loading its code. */
export type OauthEntry = {
  /** The display name. Absent: the platform, capitalised. */
  readonly name?: string;
  /** The settings that are missing for accounts of the network itself. */
  readonly missing: readonly string[];
  /** The values that are needed before the browser is redirected, by name in `POST /channels/connect`. */
  readonly fields: Readonly<Record<string, ConnectField>>;
  /** Whether the network skips its consent page for a person who allowed this service before. Then our page asks. */
  readonly asksOnce?: boolean;
  /** Whether accounts can also be connected with the secret of the network's `connector`, on the same page. */
  readonly takesSecret?: boolean;
  /** The client metadata document, for networks where this service has to serve one. */
  readonly clientMetadata?: ClientMetadata;
  readonly load: () => Promise<Oauth>;
};

type ClientMetadata = {
  /** Path below the public URL: `/connect/bluesky/client-metadata.json`. */
  readonly path: string;
  /** @returns null when servers could not read the document at the public URL. */
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
 * - `denied`: the person declined, or allowed another account than the one named before.
 * - `expired`: the response came too late, or was already used.
 * - `misconfigured`: the network does not accept our registration; the operator has to fix it.
 * - `unsupported`: the server lacks support for something that is needed.
 * - `no_account`: the grant covers no account that can publish.
 * - `unavailable`: the network does not answer, or sends unexpected responses.
 */
export type OauthErrorCode =
  | 'denied'
  | 'expired'
  | 'misconfigured'
  | 'unsupported'
  | 'no_account'
  | 'unavailable';

/** Why an account was not connected. The message is a sentence for the person at the browser, without secrets. */
export class OauthError extends Error {
  override readonly name = 'OauthError';
  readonly code: OauthErrorCode;

  constructor(code: OauthErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
