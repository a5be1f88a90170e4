import { Refusal } from '../refusal.ts';

/** A fault of a token request. Each network has its own response for it. */
export type Fault =
  | { readonly kind: 'client' }
  | { readonly kind: 'missing'; readonly parameter: string }
  | { readonly kind: 'grant type'; readonly given: string }
  /** A code that was not issued to this app, has expired, or was used. */
  | { readonly kind: 'code' }
  /** A redirect URI that differs from the authorization request's. */
  | { readonly kind: 'redirect' }
  | { readonly kind: 'verifier' }
  /** A refresh token that was not issued to this app, has expired, or was used or revoked. */
  | { readonly kind: 'refresh token' };

/** An error of a token endpoint. Source: RFC 6749, section 5.2. */
export class OauthRefusal extends Refusal {
  readonly description: string | undefined;

  /** @param error The code: `invalid_grant`. */
  constructor(
    status: number,
    error: string,
    description?: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(status, description ?? error, { code: error, headers });
    this.description = description;
  }
}
