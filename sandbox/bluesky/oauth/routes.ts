import { Router } from '@koa/router';
import type { Context, Middleware } from 'koa';
import { isAccountName } from '../../account-name.ts';
import { readRequestBody } from '../../body.ts';
import type { SandboxDeps } from '../../deps.ts';
import { AuthorizeFault, readAuthorizeRequest } from '../../oauth/authorize-request.ts';
import { returnTo } from '../../oauth/authorize-routes.ts';
import type { SandboxOauthApp } from '../../oauth/code-flow.ts';
import { isOwnForm, showAuthorizeError, showConsent } from '../../oauth/consent-page.ts';
import { OauthRefusal } from '../../oauth/oauth-refusal.ts';
import { answerOauthErrors, answerTokens, fieldsOf } from '../../oauth/token-routes.ts';
import { originOf } from '../../origin.ts';
import { accountNamed } from '../account.ts';
import { clientIn } from './clients.ts';
import { flow } from './flow.ts';
import { addMetadata } from './metadata.ts';
import { ProofFault, type Proofs } from './proofs.ts';
import { createPushedRequests, type PushedRequests } from './pushed-requests.ts';

/** Bluesky's OAuth routes, which atproto expects at a bare origin. */
export function blueskyOauthRoutes(deps: SandboxDeps, proofs: Proofs): Router {
  const router = new Router();
  const pushed = createPushedRequests(deps.now);
  addMetadata(router);
  addPush(router, proofs, pushed);
  addAuthorize(router, deps, pushed);
  addTokens(router, deps, proofs);
  return router;
}

/** Adds the nonce to each response, and reports a rejected proof as an authorization server does. */
const withNonce =
  (proofs: Proofs): Middleware =>
  async (ctx, next) => {
    ctx.set('dpop-nonce', proofs.nonce());
    try {
      await next();
    } catch (error) {
      throw error instanceof ProofFault ? new OauthRefusal(400, error.code, error.message) : error;
    }
  };

type Shown = {
  readonly app: SandboxOauthApp;
  readonly fields: Readonly<Record<string, string>>;
  /** The thumbprint of the key that tokens are bound to. */
  readonly jkt: string;
};

/** The app and the key of a request. @throws OauthRefusal */
async function shownIn(ctx: Context, proofs: Proofs): Promise<Shown> {
  const jkt = proofs.check(ctx);
  const fields = await fieldsOf(ctx);
  const app = clientIn(ctx, fields);
  if (app === undefined) {
    throw flow.refusalOf({ kind: 'client' });
  }
  return { app, fields, jkt };
}

function addPush(router: Router, proofs: Proofs, pushed: PushedRequests): void {
  router.post('/oauth/par', answerOauthErrors, withNonce(proofs), async (ctx) => {
    const { fields, jkt } = await shownIn(ctx, proofs);
    const query = new URLSearchParams(fields);
    try {
      const { challenge } = readAuthorizeRequest(flow, query);
      if (challenge === null) {
        throw flow.refusalOf({ kind: 'missing', parameter: 'code_challenge' });
      }
    } catch (error) {
      throw error instanceof AuthorizeFault
        ? new OauthRefusal(400, error.error, error.message)
        : error;
    }
    ctx.status = 201;
    ctx.body = pushed.add({ query, jkt });
  });
}

/** The consent page and its form. A pushed request is used once. */
function addAuthorize(router: Router, { codes }: SandboxDeps, pushed: PushedRequests): void {
  router.get(flow.authorizePath, (ctx) => {
    const fields = Object.fromEntries(ctx.URL.searchParams);
    const found = pushed.find(fields);
    if (found === undefined) {
      refuse(ctx, notPushed);
      return;
    }
    const { app, scopes, redirectUri } = readAuthorizeRequest(flow, found.query);
    showConsent(ctx, {
      network: flow.network,
      label: flow.label,
      accounts: flow.accounts,
      chosen: accountNamed(found.query.get('login_hint') ?? '') ?? undefined,
      app: app.name,
      scopes: scopes.map((name) => ({ name, meaning: flow.scopes[name] ?? '' })),
      returnsTo: redirectUri,
      action: flow.authorizePath,
      fields,
    });
  });

  router.post(flow.authorizePath, async (ctx) => {
    const { account, decision, ...fields } = await readRequestBody(ctx.req);
    const found = pushed.find(fields);
    if (found === undefined || !isOwnForm(ctx) || !isAccountName(account)) {
      refuse(ctx, found ? 'The form was not sent by this page.' : notPushed);
      return;
    }
    pushed.forget(fields);
    const request = readAuthorizeRequest(flow, found.query);
    const { app, scopes, redirectUri, challenge } = request;
    const consent = { network: flow.network, account, client: app.clientId, scopes };
    const answer =
      decision === 'allow'
        ? { code: codes.issue({ ...consent, data: { jkt: found.jkt }, redirectUri, challenge }) }
        : flow.denial;
    returnTo(ctx, request, { ...answer, iss: originOf(ctx) });
  });
}

const notPushed = 'The request (request_uri) is unknown or has expired.';

const refuse = (ctx: Context, reason: string): void => showAuthorizeError(ctx, { ...flow, reason });

function addTokens(router: Router, deps: SandboxDeps, proofs: Proofs): void {
  const { grants, codes } = deps;
  const { network, tokenPath } = flow;
  router.post(tokenPath, answerOauthErrors, withNonce(proofs), async (ctx) => {
    const { app, fields, jkt } = await shownIn(ctx, proofs);
    const state = grants.refresh(network, fields['refresh_token'] ?? '');
    const consent =
      state.kind === 'unknown' ? codes.find(network, fields['code'] ?? '')?.request : state.grant;
    if (consent && consent.data?.['jkt'] !== jkt) {
      throw new OauthRefusal(400, 'invalid_grant', 'DPoP proof does not match the expected JKT');
    }
    await answerTokens(ctx, deps, flow, app, fields);
  });

  router.post('/oauth/revoke', answerOauthErrors, withNonce(proofs), async (ctx) => {
    const { app, fields } = await shownIn(ctx, proofs);
    const token = fields['token'] ?? '';
    for (const state of [grants.refresh(network, token), grants.access(network, token)]) {
      if (state.kind !== 'unknown' && state.grant.client === app.clientId) {
        await grants.revoke([state.grant]);
      }
    }
    ctx.body = {};
  });
}
