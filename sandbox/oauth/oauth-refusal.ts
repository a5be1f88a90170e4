import { Refusal } from '../refusal.ts';

/** What is wrong with a request for tokens. Each network says it in its own words. */
export type Fault =
  | { readonly kind: 'client' }
  | { readonly kind: 'missing'; readonly parameter: string }
  | { readonly kind: 'grant type'; readonly given: string }
  /** A code that was not issued to this app, has ended, or was used. */
  | { readonly kind: 'code' }
  /** Another redirect address than the authorization request's. */
  | { readonly kind: 'redirect' }
  | { readonly kind: 'verifier' }
  /** A refresh token that was not issued to this app, has ended, was used or taken back. */
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
