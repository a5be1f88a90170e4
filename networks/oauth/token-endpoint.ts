import { anything, having, text } from '../../domain/json-schema.ts';
import type { ChannelErrorCode } from '../../domain/channel-error.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf, retryAtMs, tokenSchema } from '../answer.ts';
import { sendNetworkRequest } from '../http.ts';
import { NetworkError } from '../network.ts';
import {
  refusedIn,
  type AuthorizationServer,
  type OauthErrorBody,
} from './authorization-server.ts';
import {
  OauthError,
  type Grant,
  type OauthAppCredentials,
  type OauthContext,
  type Refresh,
} from './contract.ts';

export type Tokens = {
  readonly accessToken: string;
  readonly accessForMs: number | null;
  readonly refreshToken: string | null;
  readonly refreshForMs: number | null;
  /** The granted scopes; null when the response does not say, which means all requested ones. */
  readonly scopes: readonly string[] | null;
};

type Exchange = {
  readonly server: AuthorizationServer;
  readonly context: OauthContext;
  /** Secrets of the request, beside the app's, which must not appear in messages. */
  readonly secrets: readonly string[];
};

/** Gets new tokens with a grant's refresh token. A grant without one is returned unchanged until its access expires. */
export async function refreshGrant(
  serverFor: () => AuthorizationServer,
  { grant, ...context }: Refresh,
): Promise<Grant> {
  const nowMs = context.now().getTime();
  if (grant.refreshToken === null) {
    return assertNotExpired(grant, nowMs);
  }

  const server = configured(serverFor);
  const secrets = [grant.refreshToken, grant.accessToken];
  const form = { grant_type: 'refresh_token', refresh_token: grant.refreshToken };
  const tokens = await requestTokens({ server, context, secrets }, form);
  return { ...grant, ...grantOf(tokens, context.now().getTime(), grant) };
}

function assertNotExpired(grant: Grant, nowMs: number): Grant {
  if (grant.accessEndsAtMs !== null && grant.accessEndsAtMs <= nowMs) {
    const message = 'The access has expired, and the network gave no refresh token to renew it.';
    throw new NetworkError('access_lost', message, { accepted: 'no' });
  }

  return grant;
}

function configured(serverFor: () => AuthorizationServer): AuthorizationServer {
  try {
    return serverFor();
  } catch (error) {
    throw error instanceof OauthError
      ? new NetworkError('internal', error.message, { accepted: 'no' })
      : error;
  }
}

/** Token endpoint errors that concern the app (RFC 6749, section 5.2; `deleted_client` is Google's). */
const aboutApp: ReadonlySet<string> = new Set([
  'invalid_client',
  'unauthorized_client',
  'deleted_client',
  'disabled_client',
]);

/** X and LinkedIn answer `invalid_request` for an expired code, and mention the code in the description. */
const isAboutCode = ({ error, description }: OauthErrorBody): boolean =>
  error === 'invalid_request' && /\b(?:authorization code|code verifier)\b/iu.test(description);

/** Only errors that certainly mean it end a grant; others may be temporary. */
function refusalOf(
  response: EgressResponse,
  { server, context, secrets }: Exchange,
  isCode: boolean,
): NetworkError {
  const { name, appAdvice } = server;
  const { details, ...refused } = refusedIn(response, secrets);
  const refusal = (code: ChannelErrorCode, what: string, advice = '') =>
    new NetworkError(code, `${name} ${what} ${details}.${advice && ` ${advice}`}`, {
      accepted: 'no',
      server: 'answered',
      retryAtMs: retryAtMs(response, context.now().getTime()),
    });
  const isOver = isCode ? isAboutCode(refused) : server.endsGrant?.(refused);
  if (response.status === 429) {
    return refusal('rate_limited', 'takes no more requests for now');
  }
  if (refused.error === 'invalid_grant' || isOver) {
    return isCode
      ? refusal('access_lost', 'no longer accepts its code', 'Start over.')
      : refusal('access_lost', 'does not accept the refresh token');
  }
  if (aboutApp.has(refused.error)) {
    return refusal('internal', 'does not know this service', appAdvice);
  }
  return isCode && refused.error !== ''
    ? refusal('internal', 'does not accept the request of this service', appAdvice)
    : refusal('network_unavailable', 'is not available at the moment');
}

/** Sends one request to the token endpoint (RFC 6749, sections 4.1.3 and 6). */
export async function requestTokens(
  { server, context, secrets }: Exchange,
  form: Readonly<Record<string, string>>,
): Promise<Tokens> {
  const { name, app, secretIn, tokenUrl: path } = server;
  const { http, signal } = context;
  const isInForm = secretIn === 'form';
  const ofApp = { client_id: app.clientId, client_secret: app.clientSecret };
  const response = await sendNetworkRequest(
    { http, baseUrl: path, ...(signal && { signal }) },
    {
      method: 'POST',
      path,
      headers: isInForm ? {} : { authorization: `Basic ${basicOf(app)}` },
      form: new URLSearchParams({ ...form, ...(isInForm && ofApp) }),
      purpose: 'prepare',
    },
    name,
  );
  if (response.status !== 200) {
    const hidden = [app.clientSecret, basicOf(app), ...secrets];
    const isCode = form['grant_type'] === 'authorization_code';
    const exchange = { server, context, secrets: hidden };
    throw server.refusalOf?.(response, hidden) ?? refusalOf(response, exchange, isCode);
  }

  const tokens = readTokens(jsonOf(response));
  if (!tokens) {
    const message = `${name} returned an unexpected response.`;
    throw new NetworkError('network_unavailable', message, { accepted: 'no', server: 'answered' });
  }
  return tokens;
}

/** The credentials of HTTP Basic (RFC 6749, section 2.3.1, appendix B). */
const basicOf = ({ clientId, clientSecret }: OauthAppCredentials): string =>
  btoa(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`);

const formEncoded = (value: string): string =>
  new URLSearchParams({ value }).toString().slice('value='.length);

const readAnswer = answerReader(
  having(
    { access_token: tokenSchema },
    {
      token_type: { type: 'string', pattern: '^(?i:bearer)$' },
      expires_in: anything,
      refresh_token: tokenSchema,
      refresh_token_expires_in: anything,
      scope: text,
    },
  ),
);

/** Null for an invalid response. LinkedIn omits `token_type`, others send null or an empty text for absent members. */
function readTokens(value: unknown): Tokens | null {
  const given = Object.entries(value ?? {}).filter(([, one]) => one !== null && one !== '');
  const answer = readAnswer(Object.fromEntries(given));
  return (
    answer && {
      accessToken: answer.access_token,
      accessForMs: durationMs(answer.expires_in),
      refreshToken: answer.refresh_token ?? null,
      refreshForMs: durationMs(answer.refresh_token_expires_in),
      // The separator is a space; LinkedIn uses commas.
      scopes: answer.scope?.split(/[\s,]+/u).filter((scope) => scope !== '') ?? null,
    }
  );
}

/** A longer lifetime counts as unlimited: it might exceed the range of dates. */
export const longestSeconds = 10 * 365 * 86_400;

function durationMs(seconds: unknown): number | null {
  const known = typeof seconds === 'number' || typeof seconds === 'string' ? Number(seconds) : -1;
  return known >= 0 && known <= longestSeconds ? Math.floor(known * 1000) : null;
}

/** @param before The refreshed grant. Its refresh token stays if the response has no new one. */
export function grantOf(tokens: Tokens, nowMs: number, before?: Grant): Grant {
  const accessEndsAtMs = tokens.accessForMs === null ? null : nowMs + tokens.accessForMs;
  const refreshToken = tokens.refreshToken ?? before?.refreshToken ?? null;
  const isSame = refreshToken === before?.refreshToken;
  const kept = isSame ? (before?.endsAtMs ?? null) : null;
  const refreshEndsAtMs = tokens.refreshForMs === null ? kept : nowMs + tokens.refreshForMs;
  return {
    accessToken: tokens.accessToken,
    accessEndsAtMs,
    refreshToken,
    endsAtMs: refreshToken === null ? accessEndsAtMs : refreshEndsAtMs,
  };
}
