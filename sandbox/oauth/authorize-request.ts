import type { CodeFlow, SandboxOauthApp } from './code-flow.ts';

/** An authorization request. */
export type AuthorizeRequest = {
  readonly app: SandboxOauthApp;
  readonly redirectUri: string;
  readonly state: string | null;
  readonly scopes: readonly string[];
  /** PKCE challenge with S256. */
  readonly challenge: string | null;
};

/** A fault of an authorization request. */
export class AuthorizeFault extends Error {
  override readonly name = 'AuthorizeFault';
  /** The code for the app: `invalid_scope`. */
  readonly error: string;
  /** The redirect for the error; undefined when the app or the redirect URI is not trusted. */
  readonly returnsTo: Pick<AuthorizeRequest, 'redirectUri' | 'state'> | undefined;

  constructor(
    error: string,
    message: string,
    returnsTo?: Pick<AuthorizeRequest, 'redirectUri' | 'state'>,
  ) {
    super(message);
    this.error = error;
    this.returnsTo = returnsTo;
  }
}

/** @throws AuthorizeFault when the network would refuse the request. */
export function readAuthorizeRequest(flow: CodeFlow, query: URLSearchParams): AuthorizeRequest {
  const repeated = [...query.keys()].find((name) => query.getAll(name).length > 1);
  if (repeated !== undefined) {
    throw new AuthorizeFault('invalid_request', `The request has ${repeated} more than once.`);
  }
  const app = flow.findApp(query.get('client_id') ?? '');
  if (app === undefined) {
    throw new AuthorizeFault('invalid_client', 'The app (client_id) is unknown.');
  }
  const redirectUri = query.get('redirect_uri') ?? '';
  if (!mayReturnTo(app, redirectUri)) {
    const message = `The redirect address (redirect_uri) "${redirectUri}" is not registered for the app.`;
    throw new AuthorizeFault('invalid_request', message);
  }
  const returnsTo = { redirectUri, state: query.get('state') };
  const missing = flow.required.find((name) => !query.get(name));
  if (missing !== undefined) {
    throw new AuthorizeFault('invalid_request', `The request has no ${missing}.`, returnsTo);
  }
  if (query.get('response_type') !== 'code') {
    const message = 'The response_type must be code.';
    throw new AuthorizeFault('unsupported_response_type', message, returnsTo);
  }
  const scope = query.get('scope') ?? flow.defaultScope ?? '';
  const scopes = scope.split(/[\s,]+/v).filter((one) => one !== '');
  const unknown = scopes.find((one) => !mayAskFor(flow, app, one));
  if (unknown !== undefined || scopes.length === 0) {
    const message = `The scope "${unknown ?? ''}" is not authorized for the app.`;
    throw new AuthorizeFault(flow.scopeError, message, returnsTo);
  }
  const challenge = query.get('code_challenge');
  const hasMethod = query.get('code_challenge_method') === 'S256';
  if (challenge !== null && !(hasMethod && /^[\w\-]{43}$/v.test(challenge))) {
    const message = 'The code_challenge must be made by S256.';
    throw new AuthorizeFault('invalid_request', message, returnsTo);
  }
  return { app, ...returnsTo, scopes, challenge };
}

const mayAskFor = (flow: CodeFlow, { scopes }: SandboxOauthApp, scope: string): boolean =>
  Object.hasOwn(flow.scopes, scope) && (scopes === null || scopes.includes(scope));

function mayReturnTo({ redirectUris }: SandboxOauthApp, address: string): boolean {
  if (redirectUris !== null) {
    return redirectUris.includes(address);
  }
  if (!URL.canParse(address) || address.includes('#')) {
    return false;
  }
  const { protocol, hostname } = new URL(address);
  const isLoopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/v.test(hostname);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback);
}
