import { randomUUID } from 'node:crypto';
import type { Router } from '@koa/router';
import type { Context, Middleware } from 'koa';
import { readRequestBody } from '../body.ts';
import type { SandboxDeps } from '../deps.ts';
import { cutConnection, Refusal } from '../refusal.ts';
import { authenticatedApp } from './client-authentication.ts';
import type { CodeFlow, SandboxOauthApp } from './code-flow.ts';
import { provesKey } from './codes.ts';
import type { Consent, TokenPolicy } from './grant.ts';
import type { Issued } from './grants.ts';
import { OauthRefusal } from './oauth-refusal.ts';

/** The Retry-After of a rate limited refresh. */
const busySeconds = 5;

type Fields = Readonly<Record<string, string>>;

/** Adds the token endpoint. */
export function addTokenRoute(router: Router, deps: SandboxDeps, flow: CodeFlow): void {
  router.post(flow.tokenPath, answerOauthErrors, async (ctx) => {
    const fields = await fieldsOf(ctx);
    const app = authenticatedApp(ctx, flow, fields);
    if (app === undefined) {
      throw flow.refusalOf({ kind: 'client' });
    }
    await answerTokens(ctx, deps, flow, app, fields);
  });
}

/** Responds to a token request of an authenticated app. */
export async function answerTokens(
  ctx: Context,
  deps: SandboxDeps,
  flow: CodeFlow,
  app: SandboxOauthApp,
  fields: Fields,
): Promise<void> {
  const { grant_type: grantType = '' } = fields;
  if (grantType === 'authorization_code') {
    ctx.body = flow.present(await redeem(deps, flow, app, fields), true, ctx);
  } else if (grantType === 'refresh_token') {
    await refresh(ctx, deps, flow, app, fields);
  } else {
    throw flow.refusalOf({ kind: 'grant type', given: grantType });
  }
}

/** Reads a form's fields. @throws OauthRefusal 400 for another type of body. */
export async function fieldsOf(ctx: Context): Promise<Fields> {
  if (!ctx.is('application/x-www-form-urlencoded')) {
    throw new OauthRefusal(400, 'invalid_request', 'The body must be a form.');
  }
  const fields = Object.entries(await readRequestBody(ctx.req));
  return Object.fromEntries(
    fields.filter((field): field is [string, string] => typeof field[1] === 'string'),
  );
}

/**
 * Exchanges a code for tokens. A second use revokes the grant of the first. @throws OauthRefusal for an invalid code,
 * or one of another app.
 */
async function redeem(
  deps: SandboxDeps,
  flow: CodeFlow,
  app: SandboxOauthApp,
  fields: Fields,
): Promise<Issued> {
  const { grants, codes } = deps;
  const value = needed(flow, fields, 'code');
  const redirectUri = needed(flow, fields, 'redirect_uri');
  const code = codes.find(flow.network, value);
  if (code === undefined || code.request.client !== app.clientId) {
    throw flow.refusalOf({ kind: 'code' });
  }
  if (code.grantId !== undefined) {
    await grants.revoke(grants.of(flow.network).filter(({ id }) => id === code.grantId));
    throw flow.refusalOf({ kind: 'code' });
  }
  const { request } = code;
  if (request.redirectUri !== redirectUri) {
    throw flow.refusalOf({ kind: 'redirect' });
  }
  if (!provesKey(request, fields['code_verifier'])) {
    throw flow.refusalOf({ kind: 'verifier' });
  }
  const { network, account, client, scopes, data } = request;
  const consent = { network, account, client, scopes, data };
  const before = grants.of(network, account).filter((grant) => grant.client === client);
  const same = before.findLast((grant) => scopesOf(grant) === scopesOf(consent));
  const again = flow.regranting === 'same tokens' && same ? grants.repeat(same) : undefined;
  if (again !== undefined) {
    codes.use(value, again.grant.id);
    return again;
  }
  if (flow.regranting === 'new scopes') {
    await grants.revoke(before.filter((grant) => scopesOf(grant) !== scopesOf(consent)));
  }
  const grantId = randomUUID();
  codes.use(value, grantId);
  return grants.begin(consent, policyOf(deps, flow, consent), grantId);
}

const scopesOf = ({ scopes }: Consent): string => scopes.toSorted().join(' ');

async function refresh(
  ctx: Context,
  deps: SandboxDeps,
  flow: CodeFlow,
  app: SandboxOauthApp,
  fields: Fields,
): Promise<void> {
  const { grants, script } = deps;
  const value = needed(flow, fields, 'refresh_token');
  const { network } = flow;
  if (script.takeOrder(network, 'refresh-silent')) {
    cutConnection(ctx);
    return;
  }
  if (script.takeOrder(network, 'refresh-busy')) {
    const headers = { 'retry-after': String(busySeconds) };
    throw new OauthRefusal(429, 'temporarily_unavailable', 'Too many requests', headers);
  }
  if (script.takeOrder(network, 'refresh-error')) {
    throw new OauthRefusal(500, 'server_error', 'Internal Server Error');
  }
  const state = grants.refresh(network, value);
  if (state.kind === 'spent') {
    await grants.revoke([state.grant]);
  }
  if (state.kind !== 'live' || state.grant.client !== app.clientId) {
    throw flow.refusalOf({ kind: 'refresh token' });
  }
  const issued = await grants.renew(state.grant, policyOf(deps, flow, state.grant));
  if (script.takeOrder(network, 'refresh-lost')) {
    cutConnection(ctx);
  } else {
    ctx.body = flow.present(issued, false, ctx);
  }
}

function policyOf({ script }: SandboxDeps, flow: CodeFlow, consent: Consent): TokenPolicy {
  const policy = flow.policyOf(consent);
  const seconds = script.orderOf(flow.network, 'lifetime')?.seconds;
  return seconds === undefined ? policy : { ...policy, accessSeconds: seconds };
}

function needed(flow: CodeFlow, fields: Fields, parameter: string): string {
  const value = fields[parameter];
  if (!value) {
    throw flow.refusalOf({ kind: 'missing', parameter });
  }
  return value;
}

/** Converts errors to the format of RFC 6749, section 5.2. */
export const answerOauthErrors: Middleware = async (ctx, next) => {
  ctx.set('pragma', 'no-cache');
  try {
    await next();
  } catch (error) {
    if (!(error instanceof Refusal)) {
      throw error;
    }
    ctx.status = error.status;
    ctx.set(error.headers);
    ctx.body =
      error instanceof OauthRefusal
        ? { error: error.code, error_description: error.description }
        : { error: 'invalid_request', error_description: error.message };
  }
};
