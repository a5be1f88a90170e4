import { createHash, randomBytes } from 'node:crypto';
import { openBrowser, type Page } from '../../support/browser.ts';

/** No server listens here: the browser stops before it. */
export const callback = 'http://127.0.0.1:9/callback';
export const verifier = randomBytes(32).toString('base64url');
export const challenge = createHash('sha256').update(verifier).digest('base64url');

/** One network's OAuth endpoints and parameters. */
export type Asking = {
  readonly authorize: string;
  readonly token: string;
  /** Parameters of the authorization request, without the app, the address and the state. */
  readonly query: Readonly<Record<string, string>>;
  readonly app: { readonly id: string; readonly secret: string };
  readonly authentication: 'basic' | 'body';
};

/** Opens the consent page. @param changed Parameters of the authorization request; undefined removes one. */
export function askPerson(
  url: string,
  { authorize, query, app }: Asking,
  changed: Readonly<Record<string, string | undefined>> = {},
): Promise<Page> {
  const all = {
    response_type: 'code',
    client_id: app.id,
    redirect_uri: callback,
    state: 'the state',
    ...query,
    ...changed,
  };
  const given = Object.entries(all).filter(
    (field): field is [string, string] => field[1] !== undefined,
  );
  return openBrowser(callback).open(`${url}${authorize}?${new URLSearchParams(given)}`);
}

/** The answer that the app gets after the person's decision. */
export async function decide(
  page: Page,
  button: 'Allow' | 'Deny',
  account: 'demo' | 'second' = 'demo',
): Promise<URLSearchParams> {
  const { url } = await openBrowser(callback).press(page, button, { account });
  return new URL(url).searchParams;
}

/** Sends a form to a token endpoint, with the app's credentials in the network's form. */
export function post(
  address: string,
  { app, authentication }: Pick<Asking, 'app' | 'authentication'>,
  fields: Readonly<Record<string, string>>,
): Promise<Response> {
  const basic = Buffer.from(`${app.id}:${app.secret}`).toString('base64');
  return fetch(address, {
    method: 'POST',
    headers: authentication === 'basic' ? { authorization: `Basic ${basic}` } : {},
    body: new URLSearchParams({
      ...fields,
      ...(authentication === 'body' && { client_id: app.id, client_secret: app.secret }),
    }),
  });
}

export type Tokens = {
  readonly access_token: string;
  readonly refresh_token?: string;
  readonly expires_in?: number;
  readonly scope: string;
  readonly id_token?: string;
};

/** Exchanges a code for tokens. */
export const redeem = (
  url: string,
  asking: Asking,
  code: string,
  changed: Readonly<Record<string, string>> = {},
): Promise<Response> =>
  post(`${url}${asking.token}`, asking, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: callback,
    ...(asking.query['code_challenge'] !== undefined && { code_verifier: verifier }),
    ...changed,
  });

export const refresh = (
  url: string,
  asking: Asking,
  token: string | undefined,
): Promise<Response> =>
  post(`${url}${asking.token}`, asking, {
    grant_type: 'refresh_token',
    refresh_token: token ?? '',
  });

/** The whole sign-in, as a person does it. */
export async function signIn(
  url: string,
  asking: Asking,
  account: 'demo' | 'second' = 'demo',
): Promise<Tokens> {
  const answer = await decide(await askPerson(url, asking), 'Allow', account);
  const redeemed = await redeem(url, asking, answer.get('code') ?? '');
  return (await redeemed.json()) as Tokens;
}

/** Sends a control call to the sandbox. */
export const control = (url: string, call: object): Promise<Response> =>
  fetch(`${url}/control`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(call),
  });

/** Calls an API with a token. */
export const callWith = (
  token: string,
  address: string,
  init: RequestInit = {},
): Promise<Response> =>
  fetch(address, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } });
