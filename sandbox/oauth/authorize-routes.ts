import type { Router } from '@koa/router';
import type { Context } from 'koa';
import { isAccountName } from '../account-name.ts';
import { readRequestBody } from '../body.ts';
import type { SandboxDeps } from '../deps.ts';
import {
  AuthorizeFault,
  readAuthorizeRequest,
  type AuthorizeRequest,
} from './authorize-request.ts';
import type { CodeFlow } from './code-flow.ts';
import { isOwnForm, showAuthorizeError, showConsent } from './consent-page.ts';

/** The consent page and its form. */
export function addAuthorizeRoutes(router: Router, deps: SandboxDeps, flow: CodeFlow): void {
  const { network, label, accounts, authorizePath } = flow;

  router.get(authorizePath, (ctx) => {
    const query = ctx.URL.searchParams;
    const request = readOrTell(ctx, flow, query);
    if (request !== undefined) {
      showConsent(ctx, {
        network,
        label,
        accounts,
        app: request.app.name,
        scopes: request.scopes.map((name) => ({ name, meaning: flow.scopes[name] ?? '' })),
        picksScopes: flow.picksScopes,
        returnsTo: request.redirectUri,
        action: authorizePath,
        fields: Object.fromEntries(query),
      });
    }
  });

  router.post(authorizePath, async (ctx) => {
    const { account, decision, ...fields } = await readRequestBody(ctx.req);
    const query = new URLSearchParams(
      Object.entries(fields).filter(
        (field): field is [string, string] => typeof field[1] === 'string',
      ),
    );
    const request = readOrTell(ctx, flow, query);
    if (request === undefined) {
      return;
    }
    if (!isOwnForm(ctx) || !isAccountName(account)) {
      showAuthorizeError(ctx, { network, label, reason: 'The form was not sent by this page.' });
      return;
    }
    const { app, redirectUri, challenge } = request;
    const scopes = request.scopes.filter(
      (scope) => !flow.picksScopes || `allow-${scope}` in fields,
    );
    if (decision !== 'allow' || scopes.length === 0) {
      returnTo(ctx, request, flow.denial);
      return;
    }
    const consent = {
      network,
      account,
      client: app.clientId,
      scopes,
      data: flow.remember?.(query),
    };
    const code = deps.codes.issue({ ...consent, redirectUri, challenge });
    returnTo(ctx, request, { code, ...flow.addToCallback?.(consent) });
  });
}

/** Reads the request. Returns undefined after it has reported a fault to the app or the user. */
function readOrTell(
  ctx: Context,
  flow: CodeFlow,
  query: URLSearchParams,
): AuthorizeRequest | undefined {
  try {
    return readAuthorizeRequest(flow, query);
  } catch (error) {
    if (!(error instanceof AuthorizeFault)) {
      throw error;
    }
    if (error.returnsTo !== undefined && flow.tellsApp) {
      returnTo(ctx, error.returnsTo, { error: error.error, error_description: error.message });
    } else {
      showAuthorizeError(ctx, { ...flow, reason: error.message });
    }
    return undefined;
  }
}

/** Sends the browser back to the app. */
export function returnTo(
  ctx: Context,
  { redirectUri, state }: Pick<AuthorizeRequest, 'redirectUri' | 'state'>,
  answer: Readonly<Record<string, string>>,
): void {
  const address = new URL(redirectUri);
  for (const [name, value] of Object.entries(answer)) {
    address.searchParams.append(name, value);
  }
  if (state !== null) {
    address.searchParams.append('state', state);
  }
  ctx.redirect(address.href);
  ctx.status = 303;
}
